# A porch with a lamp. Add this node to any scene of Godot 3.
extends Node

export var bundle = ""             # the folder that "turngraph bundle" has made; empty: a server that runs already, at url
export var url = "ws://127.0.0.1:9100"

var client = load("res://turngraph.gd").new()
var lamp
var weather

func _ready():
	add_child(client)
	client.connect("lost", self, "_lost")
	client.connect("resumed", self, "_show", ["the session goes on"])
	client.connect("restarted", self, "_show", ["a new session, with the saved dialogs"])
	var token = ""
	if bundle != "":
		var server = yield(client.start_server(bundle), "completed")
		if not server.ok:
			push_error(server.message)
			return
		url = server.url
		token = server.token
	client.start(url, token)
	yield(client.wait_until_ready(), "completed")

	# The graph can also be a JSON text of your own: {"graphJson": text}.
	lamp = yield(_create("lamp-switch"), "completed")
	yield(lamp.send("Please turn on the porch light."), "completed")
	var answer = yield(lamp.send("Thank you!"), "completed")
	print("lamp: ", answer.text)

	# This graph waits for the results of its calls.
	weather = yield(_create("weather"), "completed")
	var tools = {"get_weather": funcref(self, "_get_weather")}
	var forecast = yield(weather.send("What is the weather in Oslo?", {}, tools), "completed")
	print("weather: ", forecast.text)

	var story = lamp.send("Tell me a story.")
	lamp.cancel()
	print("story: ", yield(story, "completed").status)
	print("saved: ", lamp.history_json)

func _exit_tree():
	client.stop()
	client.stop_server()

func _create(graph_name):
	var created = yield(client.create_agent({"graphName": graph_name}), "completed")
	if not created.ok:
		push_error(created.message)
		return null
	created.agent.connect("text", self, "_show_text")
	created.agent.connect("called", self, "_show_call")
	return created.agent

func _show_text(piece):
	print("piece: ", piece)

func _show_call(call):
	print(call.toolName, " ", call.typedArgumentsJson)

func _get_weather(_arguments):
	return "snow"

func _lost(why):
	print("connecting again: ", why)

func _show(line):
	print(line)
