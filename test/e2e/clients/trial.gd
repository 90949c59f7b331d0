# What each client has to survive; clientTrial.ts describes it. The last two arguments: the URL and the token.
extends SceneTree

var client
var lamp
var chat
var pieces = 0
var answer = ""
var on_first_piece = ""

func _init():
	var arguments = OS.get_cmdline_args()
	client = load("turngraph.gd").new()
	get_root().add_child(client)
	client.connect("lost", self, "_lost")
	client.start(arguments[arguments.size() - 2], arguments[arguments.size() - 1], {"engine": "mock"})
	_run()

func _say(line):
	print("TRIAL ", line)

func _lost(why):
	_say("lost " + why)

func _text(piece):
	pieces += 1
	answer += piece
	if pieces != 1 or on_first_piece == "":
		return
	if on_first_piece == "cancel":
		chat.cancel()
	else:
		_say(on_first_piece)

func _called(call):
	_say("call %s %s" % [call.toolName, call.typedArgumentsJson])

func _turn(agent, text, what = ""):
	pieces = 0
	answer = ""
	on_first_piece = what
	var turn = yield(agent.send(text), "completed")
	if not turn.ok:
		_say("failed %d" % turn.code)
	elif turn.status == "SUCCESS":
		_say("turn SUCCESS %d %s" % [pieces, answer])
	else:
		_say("turn " + turn.status)

func _create(graph_name):
	var made = yield(client.create_agent({"graphName": graph_name}), "completed")
	if not made.ok:
		_say("refused %d" % made.code)
		return null
	made.agent.connect("text", self, "_text")
	made.agent.connect("called", self, "_called")
	return made.agent

func _run():
	yield(client.wait_until_ready(), "completed")
	lamp = yield(_create("lamp-switch"), "completed")
	chat = yield(_create("chat"), "completed")
	yield(_create("no-such-graph"), "completed")
	yield(_turn(lamp, "Please turn on the porch light."), "completed")
	yield(_turn(chat, "1970-01-01T00:00:00Z"), "completed")
	yield(_turn(chat, "Tell me a story.", "cancel"), "completed")

	_say("stop the server")
	while true:
		var exported = yield(chat.export_dialog(), "completed")
		if not exported.ok:
			_say("failed %d" % exported.code)
			break
	yield(_turn(chat, "Too late."), "completed")
	yield(client.wait_until_ready(), "completed")
	yield(_turn(chat, "After the stop."), "completed")

	yield(_turn(chat, "Tell me a story.", "kill the server"), "completed")
	yield(_turn(chat, "Too late."), "completed")
	yield(client.wait_until_ready(), "completed")
	yield(_turn(chat, "After the kill."), "completed")

	yield(_turn(chat, "Tell me a story.", "restart the server"), "completed")
	yield(_turn(lamp, "Please turn on the porch light."), "completed")
	yield(client.wait_until_ready(), "completed")
	yield(_turn(lamp, "Please turn on the porch light."), "completed")
	for agent in [chat, lamp]:
		yield(agent.export_dialog(), "completed")
		_say("dialog " + agent.history_json)
	client.stop()
	_say("done")
	quit()
