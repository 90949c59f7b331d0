# One conversation, over the autoload Turngraph. Call send, and connect the signals.
class_name TurngraphAgent
extends Node

signal created                 # the agent exists; its warnings are in agent.warnings
signal text(piece)             # a piece of the answer
signal field(key, value)       # a field of the answer, such as a mood
signal called(call)            # a toolCallNotification, with its typed values in "arguments"
signal turn(answer)            # a turn has ended with SUCCESS or CANCELLED; the answer is that of send
signal failed(why)             # the agent could not be created, or a turn has failed

@export var graph_name := "chat"               # a graph of the server
@export_file("*.json") var graph_file := ""    # a graph of the project, in its place

var tools = {}                 # Callables by tool name; empty: submit results with agent.submit_result
var variables = {}             # of each message
var history_json = ""          # a dialog that was saved; set it before the node is in the tree
var agent = null               # of the client; null before created

var _is_creating = false
var _answer = null             # of create_agent

func _ready():
	var answer = await _create()
	if not answer.ok:
		failed.emit(answer.message)

# Sends a message. The answer comes with the signals; who awaits this gets it, too.
func send(message):
	var answer = await _create()
	if answer.ok:
		answer = await agent.send(message, variables, null if tools.is_empty() else tools)
	if answer.ok:
		turn.emit(answer)
	else:
		failed.emit(answer.message)
	return answer

# Cancels the running turn, if there is one: turn has the status CANCELLED.
func cancel():
	if agent != null:
		await agent.cancel()

func _create():
	if not _is_creating:
		_is_creating = true
		_answer = await _create_agent()
	while _answer == null:
		await get_tree().process_frame
	return _answer

func _create_agent():
	var client = get_node_or_null("/root/Turngraph")
	if client == null:
		return {"ok": false, "code": 1001, "message": "no autoload Turngraph: enable the plugin in the project settings"}
	var opened = await client.open()
	if not opened.ok:
		return opened
	var create = {"graphName": graph_name}
	if graph_file != "":
		create = {"graphJson": FileAccess.get_file_as_string(graph_file)}
	if history_json != "":
		create["history"] = history_json
	var answer = await client.create_agent(create)
	if answer.ok:
		agent = answer.agent
		agent.text.connect(func(piece): text.emit(piece))
		agent.field.connect(func(key, value): field.emit(key, value))
		agent.called.connect(func(detected): called.emit(detected))
		created.emit()
	return answer

func _exit_tree():
	if agent != null:
		agent.destroy()
