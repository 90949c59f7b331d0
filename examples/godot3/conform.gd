# Speaks the commands of "turngraph conformance --client" for the client in turngraph.gd: conform.sh starts it. One JSON command
# a line comes on standard input, one JSON event a line goes to standard output.
extends SceneTree

var client
var agents = {}
var turns = {}                     # by agent: the id of the command that runs
var connect_id = null              # of the connect command that is under way
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
		_connect(id, command.get("token", ""))
	elif command.do == "close":
		_close(id)
	elif not command.do in ["create_agent", "send", "results", "cancel"]:
		_fail(id, {"code": 0, "message": "there is no command \"%s\"" % command.do})
	elif client == null:
		_fail(id, {"code": 1002, "message": "not connected"})
	elif command.do == "create_agent":
		_create(id, command)
	elif not agents.has(command.agent):
		_fail(id, {"code": 0, "message": "there is no agent \"%s\"" % command.agent})
	elif command.do == "send":
		_send(id, agents[command.agent], command.text)
	elif command.do == "results":
		_results(id, agents[command.agent], command.results)
	else:
		_finish(id, "ok", agents[command.agent].cancel())

func _connect(id, token):
	client = load("turngraph.gd").new()
	get_root().add_child(client)
	connect_id = id
	client.connect("connected", self, "_connected")
	client.connect("lost", self, "_lost")
	client.connect("stopped", self, "_lost_for_good")
	client.connect("resumed", self, "_emit", [null, "resumed"])
	client.connect("restarted", self, "_emit", [null, "restarted"])
	client.start(OS.get_environment("TURNGRAPH_URL"), token)

func _connected():
	if connect_id != null:
		_emit(connect_id, "connected", {"session": client.session_id})
	connect_id = null

# The library would try again; the commands know one attempt only.
func _lost(why):
	if connect_id != null:
		_fail(connect_id, {"code": 1001, "message": why})
		connect_id = null
		client.disconnect("stopped", self, "_lost_for_good")
		client.stop()

func _lost_for_good(why):
	if connect_id != null:
		_fail(connect_id, {"code": 1001, "message": why})
		connect_id = null
	else:
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
	answer.agent.connect("called", self, "_called", [answer.agent])
	_emit(id, "agent", {"agent": name})

func _send(id, agent, text):
	# A message to a busy agent is refused, and its turn goes on.
	if not turns.has(agent):
		turns[agent] = id
	var answer = yield(agent.send(text), "completed")
	if turns[agent] == id:
		turns.erase(agent)
	if not answer.ok:
		_fail(id, answer)
	elif answer.status == "ERROR":
		_fail(id, {"code": int(answer.body.error.get("code", 0)), "message": answer.body.error.get("message", "")})
	else:
		_emit(id, "complete", {"text": answer.text, "status": answer.status, "reason": answer.body.get("stopReason", "NONE")})

func _text(piece, agent):
	_emit(turns[agent], "text", {"text": piece})

func _called(call, agent):
	_emit(turns[agent], "call", {"call": call.callId, "name": call.toolName, "arguments": call.arguments})

func _results(id, agent, results):
	var submitted = []
	for result in results:
		submitted.append({"callId": result.call, "content": result.content, "ok": result.get("ok", false)})
	_finish(id, "ok", agent.submit_results(submitted))

func _finish(id, event, request):
	var answer = yield(request, "completed")
	if answer.ok:
		_emit(id, event)
	else:
		_fail(id, answer)

func _close(id):
	if client != null:
		if client.is_connected("stopped", self, "_lost_for_good"):
			client.disconnect("stopped", self, "_lost_for_good")
		client.stop()
		while not client.is_closed():
			yield(self, "idle_frame")
	if id != null:
		_emit(id, "closed")
	quit()
