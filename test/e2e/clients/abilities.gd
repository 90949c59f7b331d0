# What the example does not show. The last two arguments: the URL of a server, and the folder of a bundle.
extends SceneTree

var client = load("res://turngraph.gd").new()
var last = {}
var connections = 0

func _init():
	var arguments = OS.get_cmdline_args()
	get_root().add_child(client)
	client.connect("progress", self, "_progress")
	_run(arguments[arguments.size() - 2], arguments[arguments.size() - 1])

func _progress(model):
	last = model

func _show_answer(what, answer):
	print(what, " ok" if answer.ok else " %d" % answer.code)

func _run(url, bundle):
	client.start(url)
	yield(client.wait_until_ready(), "completed")
	var listed = yield(client.list_models(), "completed")
	var names = PoolStringArray()
	for model in listed.models:
		names.append(model.name + ":" + model.status)
	print("models ", names.join(" "))
	var suggested = yield(client.suggest_models({"maxBytes": 1}), "completed")
	print("suggested ", suggested.body.models.size(), " of ", suggested.body.leftOut.size() > 0)
	var downloaded = yield(client.download_model("Tiny"), "completed")
	print("downloaded ", downloaded.body.sizeBytes, " after ", last.modelName, " ", last.phase, " ", last.fraction)
	_show_answer("nowhere", yield(client.download_model("Nowhere"), "completed"))

	var params = {"inline_strings": ["A \"quoted\" \ttext \\"]}
	var graph = {"start_node": "a", "nodes": {"a": {"type": "CannedResponse", "params": params}}}
	var agent = yield(client.create_agent({"graph": graph}), "completed").agent
	print("text ", yield(agent.send("Hello!"), "completed").text.to_utf8().hex_encode())
	_show_answer("destroyed", yield(agent.destroy(), "completed"))
	_show_answer("after that", yield(agent.send("Are you there?"), "completed"))
	var long = {"graphJson": "x".repeat(1100000)}
	_show_answer("too long", yield(client.create_agent(long), "completed"))
	client.stop()
	_show_answer("closed", yield(client.request("listModels", {}), "completed"))
	while not client.is_closed():
		yield(self, "idle_frame")

	var server = yield(client.start_server(bundle, ["--resume-grace", "7"]), "completed")
	_show_answer("server", server)
	client.start(server.url, server.token)
	yield(client.wait_until_ready(), "completed")
	print("started")
	client.connect("lost", self, "_lost")
	client.stop_server()

func _lost(_why):
	print("stopped")
	quit()
