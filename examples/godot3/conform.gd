# Speaks the commands of "turngraph conformance --client" for the client in turngraph.gd, and those of
# test/e2e/clients/scenarios.json: conform.sh starts it. One JSON command a line comes on standard input, one JSON event a line goes to standard output.
extends SceneTree

var client
var agents = {}
var turns = {}                     # by agent: the id of the command that runs
var functions = []                 # a FuncRef does not hold its object
var reader = Thread.new()
var mutex = Mutex.new()
var lines = []

func _init():
	Engine.target_fps = 200
	reader.start(self, "_read_lines")

# Godot 3 has no standard input. A child process has that of its parent, and sed reads no further than the end of the line. Godot
# takes output in pieces, and a piece can end within a character: so it comes in ASCII.
func _read_lines(_nothing):
	while true:
		var output = []
		OS.execute("sh", ["-c", "sed -u 1q | base64 -w 0"], true, output)
		var line = Marshalls.base64_to_utf8(output[0]) if not output.empty() else ""
		mutex.lock()
		lines.append(line)
		mutex.unlock()
		if line == "":
			return

func _idle(_delta):
	mutex.lock()
	var taken = lines
	lines = []
	mutex.unlock()
	for line in taken:
		if line == "":
			_close(null)
		else:
			_run(JSON.parse(line).result)
	return false

func _emit(id, event, fields = {}):
	var line = {"event": event}
	if id != null:
		line["id"] = int(id)
	for name in fields:
		line[name] = fields[name]
	print(JSON.print(line))

func _fail(id, answer):
	_emit(id, "error", {"code": answer.code, "message": answer.message})

func _run(command):
	var id = command.id
	if command.do == "connect":
		_connect(id, command)
	elif command.do == "close":
		_close(id)
	elif not command.do in ["create_agent", "send", "results", "cancel", "export", "change", "destroy", "request", "report_frame"]:
		_fail(id, {"code": 0, "message": "there is no command \"%s\"" % command.do})
	elif client == null:
		_fail(id, {"code": 1002, "message": "not connected"})
	elif command.do == "create_agent":
		_create(id, command)
	elif command.do == "report_frame":
		client.report_frame(command.ms, command.target_ms)
		_emit(id, "ok")
	elif command.do == "request":
		_finish(id, "answer", client.request(command.name, command.body))
	elif not agents.has(command.agent):
		_fail(id, {"code": 0, "message": "there is no agent \"%s\"" % command.agent})
	elif command.do == "send":
		_send(id, agents[command.agent], command)
	elif command.do == "results":
		_results(id, agents[command.agent], command.results)
	elif command.do == "export":
		_export(id, agents[command.agent])
	elif command.do == "change":
		_finish(id, "ok", agents[command.agent].change_params(command.node, command.params))
	elif command.do == "destroy":
		_finish(id, "ok", agents[command.agent].destroy())
	else:
		_finish(id, "ok", agents[command.agent].cancel())

func _connect(id, command):
	client = load("turngraph.gd").new()
	get_root().add_child(client)
	client.idle_ms = int(command.get("idle_ms", client.idle_ms))
	var url = OS.get_environment("TURNGRAPH_URL")
	var answer = yield(client.connect_to_server(url, command.get("token", "")), "completed")
	if not answer.ok:
		_fail(id, answer)
		return
	client.connect("stopped", self, "_lost")
	client.connect("resumed", self, "_emit", [null, "resumed"])
	client.connect("restarted", self, "_emit", [null, "restarted"])
	_emit(id, "connected", {"session": client.session_id})

func _lost(_why):
	_emit(null, "lost")

func _create(id, command):
	var create = {"graph": command.graph}
	if command.has("dialog"):
		create["history"] = command.dialog
	var answer = yield(client.create_agent(create), "completed")
	if not answer.ok:
		_fail(id, answer)
		return
	var name = "agent-%d" % (agents.size() + 1)
	agents[name] = answer.agent
	answer.agent.connect("text", self, "_text", [answer.agent])
	answer.agent.connect("field", self, "_field", [answer.agent])
	answer.agent.connect("called", self, "_called", [answer.agent])
	_emit(id, "agent", {"agent": name, "warnings": answer.agent.warnings})

# A function that a command describes.
class Tool:
	extends Reference
	var behaviour

	func run(_arguments):
		return {"ok": false, "content": behaviour.fails} if behaviour.has("fails") else behaviour.get("returns")

func _tools_of(command):
	if not command.has("tools"):
		return null
	var tools = {}
	for name in command.tools:
		var tool_function = Tool.new()
		tool_function.behaviour = command.tools[name]
		functions.append(tool_function)
		tools[name] = funcref(tool_function, "run")
	return tools

func _export(id, agent):
	var answer = yield(agent.export_dialog(), "completed")
	if answer.ok:
		_emit(id, "dialog", {"dialog": JSON.parse(agent.history_json).result})
	else:
		_fail(id, answer)

func _send(id, agent, command):
	# A message to a busy agent is refused, and its turn goes on.
	if not turns.has(agent):
		turns[agent] = id
	var answer = yield(agent.send(command.text, {}, _tools_of(command)), "completed")
	if turns[agent] == id:
		turns.erase(agent)
	if not answer.ok:
		_fail(id, answer)
	else:
		_emit(id, "complete", {"text": answer.text, "status": answer.status, "reason": answer.body.get("stopReason", "NONE"),
			"warnings": answer.warnings})

func _text(piece, agent):
	_emit(turns[agent], "text", {"text": piece})

func _field(name, value, agent):
	_emit(turns[agent], "field", {"name": name, "value": value})

func _called(call, agent):
	_emit(turns[agent], "call", {"call": call.callId, "name": call.toolName, "arguments": call.arguments})

func _results(id, agent, results):
	var submitted = []
	for result in results:
		submitted.append({"callId": result.call, "content": result.content, "ok": result.get("ok", false)})
	_finish(id, "ok", agent.submit_tool_results(submitted))

func _finish(id, event, request):
	var answer = yield(request, "completed")
	if answer.ok:
		_emit(id, event)
	else:
		_fail(id, answer)

func _close(id):
	if client != null:
		if client.is_connected("stopped", self, "_lost"):
			client.disconnect("stopped", self, "_lost")
		yield(client.close(), "completed")
	if id != null:
		_emit(id, "closed")
	quit()
