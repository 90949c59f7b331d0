# A porch with a lamp. Add this node to any scene of Godot 4, without the plugin or with it.
extends Node

@export var bundle := ""           # the folder that "turngraph bundle" has made; empty: a server that runs already, at url
@export var url := "ws://127.0.0.1:9100"

var client = load("res://addons/turngraph/turngraph.gd").new()

func _ready():
	add_child(client)
	client.lost.connect(func(why): print("connecting again: ", why))
	client.resumed.connect(func(): print("the session goes on"))
	client.restarted.connect(func(): print("a new session, with the saved dialogs"))
	var token = ""
	if bundle != "":
		var server = await client.start_server(bundle)
		if not server.ok:
			push_error(server.message)
			return
		url = server.url
		token = server.token
	client.start(url, token)
	await client.wait_until_ready()

	# The graph can also be a JSON text of your own: {"graphJson": text}.
	var lamp = await _create("lamp-switch")
	await lamp.send("Please turn on the porch light.")
	var answer = await lamp.send("Thank you!")
	print("lamp: ", answer.text)

	# This graph waits for the results of its calls.
	var weather = await _create("weather")
	var tools = {"get_weather": func(_arguments): return "snow"}
	var forecast = await weather.send("What is the weather in Oslo?", {}, tools)
	print("weather: ", forecast.text)

	# A turn that is cancelled while it runs.
	get_tree().create_timer(0.1).timeout.connect(lamp.cancel)
	var story = await lamp.send("Tell me a story.")
	print("story: ", story.status)
	print("saved: ", lamp.history_json)

func _exit_tree():
	client.stop()
	client.stop_server()

func _create(graph_name):
	var created = await client.create_agent({"graphName": graph_name})
	if not created.ok:
		push_error(created.message)
		return null
	created.agent.text.connect(func(piece): print("piece: ", piece))
	created.agent.called.connect(func(call): print(call.toolName, " ", call.typedArgumentsJson))
	return created.agent
