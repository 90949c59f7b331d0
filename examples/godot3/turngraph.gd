# A client of turngraph for Godot 3, in one file. Add it to the scene: it polls its socket in every frame. After a short
# interruption it resumes its session, and requests and turns go on as if nothing had happened; when the session is lost, it
# creates its agents again, with their dialogs. It also starts and stops a server. Every function that waits returns an object
# to wait for:
#
#     var answer = yield(agent.send("Good evening!"), "completed")
#
# An answer is a dictionary: {"ok": true, "body": {...}}, or {"ok": false, "code": 1002, "message": "..."}.
# ../godot4/turngraph.gd is the same for Godot 4.
extends Node

signal connected       # requests are accepted: the client is connected, and its agents are restored
signal lost(why)       # the connection ended, or an attempt to connect failed; the client tries again
signal resumed         # the session goes on, on a new connection; nothing is lost
signal restarted       # there is a new session, with the agents of the lost one and their dialogs after the last turn
signal stopped(why)    # connecting again would be in vain, or stop was called; no attempt follows
signal progress(model) # a modelProgress: modelName, phase (DOWNLOADING, LOADING), fraction (0 to 1), bytesDone, bytesTotal

const MIN_PAUSE_MS = 250
const MAX_PAUSE_MS = 8000
const STABLE_MS = 10000
const RESUME_LIMIT_MS = 60000      # requests wait this long for a connection, as long as a server keeps the session
const SERVER_START_MS = 60000
const MAX_FRAME_BYTES = 1048576
const MAX_PENDING = 1000
const MAX_PAGES = 256
# What may take long.
const SLOW_MESSAGES = ["createAgent", "sendMessage", "loadModel", "downloadModel", "createStringStorage", "searchStorage"]
const MAX_DEPTH = 200              # of the JSON of a frame
# The last answer to a request is one of these, or has the name of the request.
const FINAL_MESSAGES = ["turnComplete", "ack", "error"]
const OTHER_MESSAGES = ["sessionReady", "resumeSession", "answerText", "answerField", "toolCallNotification", "nodeEvent", "modelProgress"]
# After these close codes the server has no session to resume, or would close again.
const LOST_CLOSE_CODES = [1001, 1009, 4429]
# After these the next attempt would end likewise.
const FINAL_CLOSE_CODES = [1002, 4401, 4406, 4409]

class Request:
	extends Reference
	signal frame(message, body)    # each frame of the answer, the last one included
	signal completed(answer)
	var id = 0
	var number = 0                 # the server counts the frames of a session
	var message = ""
	var bytes
	var created = null             # the agent of a createAgent
	var body = {}
	var since_ms = 0               # when it was sent, or brought something new
	var size = 0                   # bytes of its answer
	var last_progress = ""
	var is_given_up = false        # it has failed; it stays pending, because the server counts its frame

# What a session needs to be resumed.
class Session:
	extends Reference
	var id = ""
	var token = ""
	var last_id = 0
	var last_number = 0
	var last_seq = 0
	var is_restored = false
	var pending = []               # requests, in the order of their numbers

# One conversation. It outlives connections, and servers.
class Agent:
	extends Reference
	signal text(piece)             # a piece of an answer
	signal field(name, value)      # a field of an answer, such as a mood
	signal called(call)            # a toolCallNotification, with its typed values in "arguments"
	const MAX_RESULT_BYTES = 262144  # the limit of a server for the result of a call
	# Issues about the shape of arguments: a tool is not run with such.
	const BLOCKING_ISSUES = ["missing_param", "wrong_type", "not_in_enum"]
	var history_json = ""          # the dialog after the last turn, for the saved game; at first that of create_agent
	var warnings = []              # of the server, about the graph
	var id = 0
	var _client
	var _create

	func _init(client, create):
		_client = client
		_create = create.duplicate()
		for name in ["history", "graph"]:
			var value = _create.get(name)
			if value is String or (name == "history" and value != null):
				_create.erase(name)
				_create[name + "Json"] = value if value is String else JSON.print(value)
		history_json = _create.get("historyJson", "")

	# Sends one message of the player. The answer has the whole text in "text", its fields in "fields", all calls in "calls",
	# SUCCESS or CANCELLED in "status", sentences in "warnings", and the turnComplete in "body". It is not ok when the turn
	# fails, and 1002 when the session is lost; the turn is lost with it.
	# tools has FuncRefs by tool name. They get the arguments, and what they return goes back to a turn that waits for it: text
	# as it is, null as "ok", anything else as JSON, and {"ok": false, "content": why} as a failure.
	func send(text, variables = {}, tools = null):
		var pieces = []
		var fields = {}
		var calls = []
		var sent = _open("sendMessage", {"text": text, "variables": variables})
		sent.connect("frame", self, "_take_frame", [pieces, fields, calls, tools])
		var answer = yield(sent, "completed")
		answer["text"] = PoolStringArray(pieces).join("")
		answer["fields"] = fields
		answer["calls"] = calls
		if answer.ok:
			answer["status"] = answer.body.get("status", "SUCCESS")
			answer["warnings"] = answer.body.get("warnings", [])
			yield(export_dialog(), "completed")
			if answer.status == "ERROR":
				var error = answer.body.get("error", {})
				answer["ok"] = false
				answer["code"] = int(error.get("code", 0))
				answer["message"] = error.get("message", "")
		return answer

	# Gives a waiting turn the result of a call: text, or a JSON document as text.
	func submit_result(call_id, content, ok = true):
		return submit_tool_results([{"callId": call_id, "content": content, "ok": ok}])

	# Several results, each with callId, content and ok, which is true by default.
	func submit_tool_results(results):
		var filled = []
		for result in results:
			var copy = result.duplicate()
			copy["ok"] = result.get("ok", true)
			filled.append(copy)
		return request("submitToolResults", {"results": filled})

	# An older name of submit_tool_results.
	func submit_results(results):
		return submit_tool_results(results)

	# Changes live parameters of a node between turns: those that are given; null restores the default.
	func change_params(node_name, params):
		return request("changeParams", {"nodeName": node_name, "paramsJson": JSON.print(params)})

	# Cancels the running turn, if there is one. Its answer then has the status CANCELLED.
	func cancel():
		return request("cancelTurn", {})

	# Fetches the dialog into history_json.
	func export_dialog():
		var parts = []
		var sent = _open("exportDialog", {})
		sent.connect("frame", self, "_take_part", [parts])
		var answer = yield(sent, "completed")
		if answer.ok:
			history_json = PoolStringArray(parts).join("")
		return answer

	# Ends the conversation, and frees its memory in the server.
	func destroy():
		var answer = yield(request("destroyAgent", {}), "completed")
		if answer.ok:
			_client.forget_agent(self)
		return answer

	# Sends any request of an agent, such as changeParams; its agentId is filled in.
	func request(message, body):
		return _open(message, body)

	# An empty text may be a saved game that was not written to its end.
	func has_empty_history():
		return _create.has("historyJson") and history_json == ""

	# The createAgent that restores it in a new session.
	func restored():
		var body = _create.duplicate()
		if history_json != "":
			body["historyJson"] = history_json
		return body

	func _open(message, body):
		if id == 0:
			return _client._failed_request(3002, "this agent was destroyed; create another")
		var filled = body.duplicate()
		filled["agentId"] = id
		return _client._request(message, filled, false, null)

	func _take_frame(message, body, pieces, fields, calls, tools):
		if message == "answerText" and body.get("text", "") != "":
			# A line of appendText is shown, but is no part of the answer.
			if body.get("source", "") != "client":
				pieces.append(body.text)
			emit_signal("text", body.text)
		elif message == "answerField":
			fields[body.name] = JSON.parse(body.valueJson).result
			emit_signal("field", body.name, fields[body.name])
		elif message == "toolCallNotification":
			var parsed = JSON.parse(body.get("typedArgumentsJson", "{}"))
			body["arguments"] = parsed.result if parsed.error == OK else {}
			calls.append(body)
			emit_signal("called", body)
			if tools != null:
				_run_call(body, tools)

	func _run_call(detected, tools):
		var why = _why_not_run(detected, tools)
		var result = {"ok": false, "content": why}
		if why == "":
			var value = tools[detected.toolName].call_func(detected.arguments)
			if value is GDScriptFunctionState:
				value = yield(value, "completed")
			result = _to_result(value)
		if detected.get("awaitsResult", false):
			submit_result(detected.callId, result.content, result.ok)

	func _why_not_run(detected, tools):
		var name = detected.toolName
		if not tools.has(name):
			return "no tool \"%s\" is registered" % name
		# The server has not checked such a call.
		if not detected.get("known", false):
			return "%s offers no tool \"%s\"" % [detected.get("nodeName", ""), name]
		var wrong = []
		for issue in detected.get("issues", []):
			if issue.code in BLOCKING_ISSUES:
				wrong.append(issue.message)
		return "" if wrong.empty() else "invalid arguments: " + PoolStringArray(wrong).join("; ")

	func _to_result(value):
		var ok = true
		if value is Dictionary and value.get("ok") is bool and value.get("content") is String:
			ok = value.ok
			value = value.content if ok or value.content != "" else "the tool failed"
		var content = "ok" if value == null else value if value is String else JSON.print(value)
		var size = content.to_utf8().size()
		if size <= MAX_RESULT_BYTES:
			return {"ok": ok, "content": content}
		return {"ok": false, "content": "the result has %d bytes, and %d are allowed" % [size, MAX_RESULT_BYTES]}

	func _take_part(message, body, parts):
		if message == "exportDialog":
			parts.append(body.get("historyJson", ""))

var is_ready = false               # requests are accepted, and the server is not shutting down
var session_id = ""                # for logs

# What the client takes from a server that hangs, is broken or malicious; to be set before start.
var connect_ms = 10000             # for an attempt to connect
var reconnect_ms = 600000          # without a connection that lasts or brings an answer; then the client stops
var request_ms = 60000             # for the answer to a request
# For turns, and requests that load or search: without anything new, not counting pauses by setPace. More than the server's
# --turn-timeout and the results_timeout_ms of a graph.
var idle_ms = 300000
var frame_bytes = 1048576
var answer_bytes = 16777216        # of all frames of an answer

var _url = ""
var _token = ""
var _configuration = {}
var _agents = []
var _session = null
var _socket = null
var _closing_socket = null         # it is polled until it is closed; it must outlive the signal that it is emitting
var _closing_until_ms = 0
var _is_open = false
var _is_attached = false           # the session is on this socket
var _session_ready = {}
var _resume_id = 0
var _outbox = []                   # bytes that the socket has not taken yet
var _last_error = null
var _close_code = 0
var _is_broken = false             # the server has left out frames, so the session cannot be trusted
var _pause_ms = MIN_PAUSE_MS
var _next_attempt_ms = 0
var _handshake_until_ms = 0
var _dropped_at_ms = 0
var _attached_at_ms = 0
var _good_at_ms = 0
var _is_paused = false
var _frames = []                   # milliseconds, since the last report
var _frames_since_ms = 0
var _stop_reason = ""
var _is_stopped = true
var _server_pid = 0
var _server_file = ""

# Starts the server of a bundle, the folder that "turngraph bundle" has made. arguments are further options of
# "turngraph serve". The answer has "url" and "token" for start.
func start_server(bundle, arguments = []):
	_server_file = OS.get_user_data_dir() + "/turngraph-%d.json" % OS.get_process_id()
	_delete_file(_server_file)
	var token = Crypto.new().generate_random_bytes(16).hex_encode()
	var options = ["serve", "--port", "0", "--port-file", _server_file, "--parent-pid", str(OS.get_process_id()),
		"--token", token, "--log-level", "silent"]
	var program = bundle + ("/turngraph.cmd" if OS.get_name() == "Windows" else "/turngraph")
	var pid = OS.execute(program, options + arguments, false)
	var limit_ms = OS.get_ticks_msec() + SERVER_START_MS
	yield(get_tree(), "idle_frame")
	while pid > 0 and OS.get_ticks_msec() < limit_ms:
		var listening = _read_json(_server_file)
		if listening is Dictionary:
			_server_pid = int(listening.pid)
			return {"ok": true, "url": "ws://127.0.0.1:%d" % int(listening.port), "token": token}
		yield(get_tree(), "idle_frame")
	return _failure(1001, "the server did not start: " + program)

# Stops the server at once. It ends by itself when the game ends.
func stop_server():
	if _server_pid != 0:
		OS.kill(_server_pid)
		_delete_file(_server_file)
	_server_pid = 0

# Starts to connect. configuration is the configureSession of each session.
func start(url, token = "", configuration = {}):
	randomize()
	_url = url
	_token = token
	_configuration = configuration
	_stop_reason = ""
	_mark_good()
	_next_attempt_ms = 0
	_is_stopped = false
	set_process(true)

# As start, and waits. The answer is not ok when the first attempt fails: the client has then stopped.
func connect_to_server(url, token = "", configuration = {}):
	start(url, token, configuration)
	yield(get_tree(), "idle_frame")
	while not is_ready and _stop_reason == "":
		yield(get_tree(), "idle_frame")
	if is_ready:
		return {"ok": true, "body": {}}
	var why = _stop_reason
	_stop(why)
	return _failure(1001, why)

# As stop, and waits until the connection is closed.
func close():
	stop()
	yield(get_tree(), "idle_frame")
	while not is_closed():
		yield(get_tree(), "idle_frame")

# Destroys the agents and closes the connection. Requests that are still pending fail with 1002.
func stop():
	if _is_stopped:
		return
	if _is_attached:
		for agent in _agents:
			_session.last_id += 1
			_outbox.append(_encode(_session.last_id, "destroyAgent", {"agentId": agent.id}))
		_send_outbox()
	_stop("closed by the client" if _is_attached or _stop_reason == "" else "%s; closed by the client" % _stop_reason)

# After stop: whether the connection is closed.
func is_closed():
	return _is_stopped and _closing_socket == null

# Waits until the client is ready. The answer is not ok when it has stopped.
func wait_until_ready():
	yield(get_tree(), "idle_frame")
	while not is_ready and not _is_stopped:
		yield(get_tree(), "idle_frame")
	return {"ok": true, "body": {}} if is_ready else _failure(1001, _stop_reason)

# Creates an agent; create has the fields of createAgent, such as graphName, or graph with a graph; history is a dialog that was
# saved. The answer has the agent in "agent".
func create_agent(create):
	var agent = Agent.new(self, create)
	if agent.has_empty_history():
		yield(get_tree(), "idle_frame")
		return _failure(5001, "history is empty: leave it out, or give \"[]\"")
	var answer = yield(_request("createAgent", agent.restored(), false, agent), "completed")
	if answer.ok:
		agent.warnings = answer.body.get("warnings", [])
		answer["agent"] = agent
	return answer

func forget_agent(agent):
	_agents.erase(agent)
	agent.id = 0

# The models of the catalogue: the answer has them in "models", with the fields of ModelInfo.
func list_models():
	var models = []
	var pages = {}
	var page = ""
	while pages.size() < MAX_PAGES:
		var answer = yield(request("listModels", {"pageToken": page}), "completed")
		if not answer.ok:
			return answer
		models += answer.body.get("models", [])
		page = answer.body.get("nextPageToken", "")
		if page == "":
			return {"ok": true, "body": answer.body, "models": models}
		if pages.has(page):
			return _failure(5001, "the server's list of models has the same page twice")
		pages[page] = true
	return _failure(2005, "the server's list of models has more than %d pages; the server does not end it" % MAX_PAGES)

# Which models fit the computer, best first: the answer has "models" and "leftOut" in its body. The wish has fields of
# SuggestModelsRequest, such as "maxBytes".
func suggest_models(wish = {}):
	return request("suggestModels", wish)

# Downloads a model of the catalogue; the signal progress tells how far it is.
func download_model(model_name):
	return request("downloadModel", {"modelName": model_name})

# Cancels a download, which then fails with 6011. The next download continues it.
func cancel_download(model_name):
	return request("cancelDownload", {"modelName": model_name})

# Tells how many milliseconds a frame took and may take: call it in each _process. Once a second the server gets the 95th
# percentile, and takes less of the machine while that is late.
func report_frame(ms, target_ms):
	if _frames.empty():
		_frames_since_ms = OS.get_ticks_msec()
	_frames.append(ms)
	if OS.get_ticks_msec() - _frames_since_ms < 1000:
		return
	_frames.sort()
	var body = {"ms": _frames[int((_frames.size() - 1) * 0.95)], "targetMs": target_ms}
	_frames.clear()
	# Without a connection it would wait, and be old.
	if is_ready and _is_attached:
		_request("reportFrame", body, false, null)

# Sends any request, such as loadModel. While a dropped connection may be resumed it waits; when the session is lost it fails
# with 1002.
func request(message, body):
	return _request(message, body, false, null)

# In a new session an old id may be that of another agent, so only its restoration may send before it is ready.
func _request(message, body, is_restoring, created):
	if _session == null or not (_session.is_restored or is_restoring):
		return _failed_request(1002, "not connected; wait until the client is ready")
	if _session.pending.size() >= MAX_PENDING:
		return _failed_request(2005, "%d requests wait for an answer; wait for some of them" % MAX_PENDING)
	var bytes = _encode(_session.last_id + 1, message, body)
	if bytes.size() > MAX_FRAME_BYTES:
		var what = "%s has %d bytes, most of them in %s" % [message, bytes.size(), _longest_field(body)]
		var limit = "a frame may have %d; nothing was sent: send less at a time" % MAX_FRAME_BYTES
		return _failed_request(5003, "%s, and %s" % [what, limit])
	var request = Request.new()
	_session.last_id += 1
	_session.last_number += 1
	request.id = _session.last_id
	request.number = _session.last_number
	request.message = message
	request.bytes = bytes
	request.created = created
	request.body = body
	request.since_ms = OS.get_ticks_msec()
	_session.pending.append(request)
	if _is_attached:
		_outbox.append(bytes)
		_send_outbox()
	return request

func _longest_field(body):
	var longest = ""
	for field in body:
		if longest == "" or str(body[field]).length() > str(body[longest]).length():
			longest = field
	return longest

# The signal of a request that fails at once comes later, when its caller waits for it.
func _failed_request(code, message):
	var request = Request.new()
	call_deferred("_complete", request, _failure(code, message))
	return request

# The request is held while its signal is emitted.
func _complete(request, answer):
	request.emit_signal("completed", answer)

func _failure(code, message):
	return {"ok": false, "code": code, "message": message}

func _encode(id, message, body):
	return JSON.print({"requestId": id, message: body}).to_utf8()

func _delete_file(path):
	Directory.new().remove(path)

func _read_json(path):
	var file = File.new()
	if not file.file_exists(path) or file.open(path, File.READ) != OK:
		return null
	var parsed = JSON.parse(file.get_as_text())
	file.close()
	return parsed.result if parsed.error == OK else null

func _ready():
	set_process(not _is_stopped)

func _process(_delta):
	var now_ms = OS.get_ticks_msec()
	if _closing_socket != null:
		_poll_closing_socket(now_ms)
	if _is_stopped:
		set_process(_closing_socket != null)
	elif _socket != null:
		_poll_socket()
		if _socket != null and not _is_attached and now_ms >= _handshake_until_ms:
			_end("the server has not answered for %d ms; if it may take longer, raise connect_ms" % connect_ms)
	elif now_ms >= _next_attempt_ms:
		_connect_socket()
	_watch(now_ms)

# Fails requests that have waited for too long.
func _watch(now_ms):
	if _session == null:
		return
	for request in _session.pending.duplicate():
		var is_slow = request.message in SLOW_MESSAGES
		if is_slow and _is_paused:
			request.since_ms = now_ms
		if request.is_given_up or now_ms - request.since_ms < (idle_ms if is_slow else request_ms):
			continue
		if is_slow:
			_give_up(request, 1003, "%s had nothing new for %d ms; if it may take longer, raise idle_ms" % [request.message, idle_ms])
		else:
			_give_up(request, 1003, "%s had no answer within %d ms; if it may take longer, raise request_ms" % [request.message, request_ms])

# Fails a request, and tells the server to stop.
func _give_up(request, code, why):
	request.is_given_up = true
	if request.message == "sendMessage":
		_request("cancelTurn", {"agentId": request.body.agentId}, false, null)
	elif request.message == "downloadModel":
		_request("cancelDownload", {"modelName": request.body.modelName}, false, null)
	request.emit_signal("completed", _failure(code, why))

# Counts a frame of an answer. Returns whether the request still waits for it.
func _count(request, message, body, size):
	var progress = JSON.print(body) if message == "modelProgress" else ""
	if progress == "" or progress != request.last_progress:
		request.since_ms = OS.get_ticks_msec() if request.message in SLOW_MESSAGES else request.since_ms
	request.last_progress = progress
	request.size += size
	if not request.is_given_up and request.size > answer_bytes:
		_give_up(request, 2005, "the answer to %s has more than %d bytes; ask for less, or raise answer_bytes" % [request.message, answer_bytes])
	return not request.is_given_up

# A connection has lasted, or has brought something new.
func _mark_good():
	_pause_ms = MIN_PAUSE_MS
	_good_at_ms = OS.get_ticks_msec()

# The URL, with the session to resume: a load balancer finds its server by it.
func _address():
	if _session == null:
		return _url
	var path = "" if _url.find("/", _url.find("://") + 3) >= 0 else "/"
	return _url + path + ("&" if "?" in _url else "?") + "session=" + _session.id.percent_encode()

func _connect_socket():
	_last_error = null
	_close_code = 0
	_is_broken = false
	_session_ready = {}
	_resume_id = 0
	_outbox = []
	_handshake_until_ms = OS.get_ticks_msec() + connect_ms
	_socket = WebSocketClient.new()
	_socket.set_buffers(frame_bytes / 1024 + 1, 4096, 2048, 4096)
	_socket.connect("connection_established", self, "_open")
	_socket.connect("connection_error", self, "_end", ["cannot connect to " + _url.split("?")[0]])
	_socket.connect("server_close_request", self, "_keep_close_code")
	_socket.connect("connection_closed", self, "_close")
	_socket.connect("data_received", self, "_receive")
	var headers = PoolStringArray()
	if _token != "":
		headers.append("Authorization: Bearer " + _token)
	if _socket.connect_to_url(_address(), PoolStringArray(["turngraph.v1.json"]), false, headers) != OK:
		_end("cannot connect to " + _url.split("?")[0])

func _poll_socket():
	_send_outbox()
	_socket.poll()

func _poll_closing_socket(now_ms):
	_closing_socket.poll()
	var is_closed = _closing_socket.get_connection_status() == NetworkedMultiplayerPeer.CONNECTION_DISCONNECTED
	if is_closed or now_ms >= _closing_until_ms:
		_closing_socket = null

func _open(_protocol):
	_socket.get_peer(1).set_write_mode(WebSocketPeer.WRITE_MODE_TEXT)
	_is_open = true

func _receive():
	var socket = _socket
	while socket != null and socket == _socket and socket.get_peer(1).get_available_packet_count() > 0:
		var packet = socket.get_peer(1).get_packet()
		if packet.size() > frame_bytes:
			_break("sent a frame of more than %d bytes; if it may be larger, raise frame_bytes" % frame_bytes)
		else:
			_take_text(packet.get_string_from_utf8(), packet.size())

# The server would break the protocol again.
func _break(what):
	_is_broken = true
	_end("the server " + what)

func _keep_close_code(code, _reason):
	_close_code = code
	# Whatever is sent from now on has no answer.
	_is_open = false

func _close(_was_clean):
	_end("the connection ended (close code %d)" % _close_code)

# What the socket does not take now is sent in a later frame of the game.
func _send_outbox():
	while _is_open and not _outbox.empty() and _socket.get_peer(1).put_packet(_outbox[0]) == OK:
		_outbox.pop_front()

func _take_text(text, size):
	if _is_deep(text):
		_break("sent a frame that nests more than %d levels deep" % MAX_DEPTH)
		return
	var parsed = JSON.parse(_join_surrogates(text))
	if parsed.error != OK or not parsed.result is Dictionary:
		_break("sent a frame that is no JSON object")
		return
	var frame = parsed.result
	# Numbers are floats here, and the key 1.0 is another than 1.
	var id = int(frame.get("requestId", 0))
	var request = _find_request(id)
	# A newer server may send messages and fields that are unknown here.
	var message = ""
	for name in frame:
		var is_known = name in FINAL_MESSAGES or name in OTHER_MESSAGES or (request != null and name == request.message)
		if is_known and frame[name] is Dictionary:
			message = name
	var body = frame.get(message, {})
	if id == 0 and message == "error":
		_last_error = body
	if message == "sessionReady":
		_greet(body)
	elif id != 0 and id == _resume_id:
		_take_resume(int(frame.get("seq", 0)), message, body)
	elif _is_attached:
		_take(request, int(frame.get("seq", 0)), message, body, size)

# The JSON parser of Godot 3 crashes on text that nests some thousand levels deep.
func _is_deep(text):
	# Few texts have so many brackets. Not text.count, which copies the rest of the text for each match.
	if text.length() <= 2 * MAX_DEPTH or text.split("[").size() + text.split("{").size() <= MAX_DEPTH:
		return false
	var strings = RegEx.new()
	strings.compile("\"(?:[^\"\\\\]++|\\\\.)*+\"")
	var innermost = RegEx.new()
	innermost.compile("\\[[^][{}]*+\\]|\\{[^][{}]*+\\}")
	var rest = strings.sub(text, "", true)
	for _level in MAX_DEPTH:
		var outer = innermost.sub(rest, "", true)
		if outer.length() == rest.length():
			return false
		rest = outer
	return rest.find("[") >= 0 or rest.find("{") >= 0

# The JSON parser of Godot 3 reads a pair of escapes (\ud83e\udd8a) as two characters.
func _join_surrogates(text):
	if text.find("\\ud") < 0 and text.find("\\uD") < 0:
		return text
	var pairs = RegEx.new()
	pairs.compile("(?<!\\\\)((?:\\\\\\\\)*)\\\\u([dD][89abAB][0-9a-fA-F]{2})\\\\u([dD][c-fC-F][0-9a-fA-F]{2})")
	var joined = PoolStringArray()
	var end = 0
	for found in pairs.search_all(text):
		var code = 0x10000 + (("0x" + found.get_string(2)).hex_to_int() - 0xd800) * 0x400
		code += ("0x" + found.get_string(3)).hex_to_int() - 0xdc00
		var bytes = PoolByteArray([0xf0 | code >> 18, 0x80 | code >> 12 & 0x3f, 0x80 | code >> 6 & 0x3f, 0x80 | code & 0x3f])
		joined.append(text.substr(end, found.get_start() - end) + found.get_string(1) + bytes.get_string_from_utf8())
		end = found.get_end()
	return joined.join("") + text.substr(end)

func _find_request(id):
	if _session != null:
		for request in _session.pending:
			if request.id == id:
				return request
	return null

# The first frame of a connection: continues the session, or begins the new one.
func _greet(body):
	_session_ready = body
	if _session == null:
		_begin(0)
		return
	# It has no number of its own, so it is not among the pending requests.
	_session.last_id += 1
	_resume_id = _session.last_id
	var resume = {"sessionId": _session.id, "resumeToken": _session.token, "lastSeq": _session.last_seq}
	_outbox.append(_encode(_resume_id, "resumeSession", resume))
	_send_outbox()

func _take_resume(seq, message, body):
	_resume_id = 0
	if message == "resumeSession":
		_is_attached = true
		_attached_at_ms = OS.get_ticks_msec()
		for request in _session.pending:
			if request.number > int(body.get("requestsReceived", 0)):
				_outbox.append(request.bytes)
		_send_outbox()
		emit_signal("resumed")
	elif message == "error":
		_lose_session("the session cannot be resumed: " + body.get("message", ""))
		# After 2001 and 2004 the server closes the connection.
		if int(body.get("code", 0)) == 2003:
			# The refusal is the first frame of the new session.
			_begin(seq)

func _begin(last_seq):
	if _socket == null:
		return
	_session = Session.new()
	_session.id = _session_ready.get("sessionId", "")
	_session.token = _session_ready.get("resumeToken", "")
	_session.last_seq = last_seq
	_is_attached = true
	_attached_at_ms = OS.get_ticks_msec()
	var is_another = session_id != ""
	session_id = _session.id
	_restore(_session, is_another)

func _restore(session, is_another):
	var requests = []
	if not _configuration.empty():
		requests.append(["configureSession", _configuration, null])
	for agent in _agents:
		requests.append(["createAgent", agent.restored(), agent])
	for entry in requests:
		var answer = yield(_request(entry[0], entry[1], true, entry[2]), "completed")
		if session != _session:
			return
		if not answer.ok:
			# 2001: the server shuts down, and closes soon. Any other refusal would be the same in each new session.
			if answer.code != 2001:
				_stop(answer.message)
			return
	session.is_restored = true
	is_ready = true
	if is_another:
		emit_signal("restarted")
	emit_signal("connected")

func _take(request, seq, message, body, size):
	if seq != 0:
		if seq <= _session.last_seq:
			return
		if seq > _session.last_seq + 1:
			_break("has left out frames: %d after %d" % [seq, _session.last_seq])
			return
		_session.last_seq = seq
		if _session.is_restored and request != null:
			_mark_good()
	if request == null or message == "":
		return
	var is_final = message in FINAL_MESSAGES
	if message == request.message:
		is_final = int(body.get("part", 0)) == int(body.get("of", 0))
	if is_final:
		_session.pending.erase(request)
	if message == "createAgent" and request.created != null:
		request.created.id = int(body.get("agentId", 0))
		if not request.created in _agents:
			_agents.append(request.created)
	if message == "modelProgress":
		emit_signal("progress", body)
	if message == "error" and int(body.get("code", 0)) == 2001:
		is_ready = false
	if message == "ack" and request.message == "setPace":
		_is_paused = request.body.get("paused", false)
	if not _count(request, message, body, size):
		return
	request.emit_signal("frame", message, body)
	if message == "error":
		request.emit_signal("completed", _failure(int(body.get("code", 0)), body.get("message", "")))
	elif is_final:
		request.emit_signal("completed", {"ok": true, "body": body})

func _end(why):
	if _socket == null:
		return
	var was_attached = _is_attached
	_close_socket(1000)
	if _last_error != null:
		why = _last_error.get("message", why)
	if was_attached:
		_dropped_at_ms = OS.get_ticks_msec()
		if _dropped_at_ms - _attached_at_ms > STABLE_MS:
			_mark_good()
	var wait_ms = _pause_ms + randi() % (_pause_ms / 2)
	_next_attempt_ms = OS.get_ticks_msec() + wait_ms
	_pause_ms = int(min(2 * _pause_ms, MAX_PAUSE_MS))
	if _close_code in FINAL_CLOSE_CODES:
		_stop(why)
		return
	if OS.get_ticks_msec() + wait_ms - _good_at_ms > reconnect_ms:
		_stop("%s; no connection has lasted for %d ms; to try for longer, raise reconnect_ms" % [why, reconnect_ms])
		return
	var is_too_late = OS.get_ticks_msec() + wait_ms - _dropped_at_ms > RESUME_LIMIT_MS
	if _is_broken or _close_code == 1001 or (was_attached and _close_code in LOST_CLOSE_CODES) or is_too_late:
		_lose_session(why)
	_stop_reason = why
	emit_signal("lost", why)

func _stop(why):
	_is_stopped = true
	_stop_reason = why
	_close_socket(1000)
	_lose_session(why)
	emit_signal("stopped", why)

func _lose_session(why):
	if _session == null:
		return
	var left = _session.pending
	_session = null
	_is_paused = false
	_is_attached = false
	is_ready = false
	for request in left:
		if not request.is_given_up:
			request.is_given_up = true
			request.emit_signal("completed", _failure(1002, why))

# Begins to close the socket; the server answers with its own close.
func _close_socket(code):
	if _socket == null:
		return
	_closing_socket = _socket
	_closing_until_ms = OS.get_ticks_msec() + 2000
	_socket = null
	_is_open = false
	_is_attached = false
	for name in ["connection_established", "connection_error", "server_close_request", "connection_closed", "data_received"]:
		for link in _closing_socket.get_signal_connection_list(name):
			_closing_socket.disconnect(name, link.target, link.method)
	_closing_socket.disconnect_from_host(code)
