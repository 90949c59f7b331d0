# A client of turngraph for Godot 3. Add it to the scene: it polls its socket in every frame, and connects again whenever
# the connection ends. Every function that waits returns an object to wait for:
#
#     var answer = yield(agent.send("Good evening!"), "completed")
#
# An answer is a dictionary: {"ok": true, "body": {...}}, or {"ok": false, "code": 1002, "message": "..."}.
extends Node

signal connected       # and all agents are restored; is_ready is true
signal lost(why)       # the connection ended, or an attempt to connect failed; the client tries again
signal stopped(why)    # the agents cannot be restored; the client has stopped

const MIN_PAUSE_MS = 250
const MAX_PAUSE_MS = 8000
const MAX_FRAME_KB = 1024
# After these close codes the next attempt would end likewise.
const FINAL_CLOSE_CODES = [1002, 4401, 4406, 4409]

class Request:
	extends Reference
	signal frame(message, body)    # each frame of the answer, the last one included
	signal completed(answer)

# One conversation. It outlives connections.
class Agent:
	extends Reference
	signal text(piece)             # a piece of an answer
	signal called(call)            # a toolCallNotification
	var history_json = ""          # the dialog after the last turn, for the saved game
	var _client
	var _create
	var _id = 0

	func _init(client, create):
		_client = client
		_create = create

	# Sends one message of the player. The body of the answer is the turnComplete. When the connection ends, the answer is
	# 1002 at once, and the turn is lost.
	func send(text, variables = {}):
		var body = {"agentId": _id, "text": text, "variables": variables}
		var request = _client.request("sendMessage", body)
		request.connect("frame", self, "_take_frame")
		var answer = yield(request, "completed")
		if answer.ok:
			yield(export_dialog(), "completed")
		return answer

	# Cancels the running turn, if there is one. Its answer then has the status CANCELLED.
	func cancel():
		return _client.request("cancelTurn", {"agentId": _id})

	# Fetches the dialog into history_json.
	func export_dialog():
		var parts = []
		var request = _client.request("exportDialog", {"agentId": _id})
		request.connect("frame", self, "_take_part", [parts])
		var answer = yield(request, "completed")
		if answer.ok:
			history_json = PoolStringArray(parts).join("")
		return answer

	func create():
		var body = _create.duplicate()
		if history_json != "":
			body.erase("history")
			body["historyJson"] = history_json
		var answer = yield(_client.send_now("createAgent", body), "completed")
		if answer.ok:
			_id = int(answer.body.agentId)
		return answer

	func _take_frame(message, body):
		if message == "answerText" and body.text != "":
			emit_signal("text", body.text)
		elif message == "toolCallNotification":
			emit_signal("called", body)

	func _take_part(message, body, parts):
		if message == "exportDialog":
			parts.append(body.historyJson)

var is_ready = false               # connected, all agents are restored, and the server is not shutting down

var _url = ""
var _token = ""
var _configuration = {}
var _agents = []
var _socket = null
var _ended_socket = null           # it must outlive the signal that it is emitting
var _is_open = false
var _is_restored = false
var _pending = {}
var _last_id = 0
var _last_error = null
var _close_code = 0
var _pause_ms = MIN_PAUSE_MS
var _next_attempt_ms = 0

# Starts to connect. configuration is the configureSession of each session.
func start(url, token = "", configuration = {}):
	randomize()
	_url = url
	_token = token
	_configuration = configuration
	set_process(true)

func stop():
	set_process(false)
	_end("closed by the client")

# Waits until the client is ready.
func wait_until_ready():
	yield(get_tree(), "idle_frame")
	while not is_ready:
		yield(self, "connected")

# Creates an agent; create has the fields of createAgent, such as graphName. The answer has the agent in "agent".
func create_agent(create):
	var agent = Agent.new(self, create)
	var answer = yield(agent.create(), "completed")
	if answer.ok:
		_agents.append(agent)
		answer["agent"] = agent
	return answer

# Sends any request, such as listModels. It fails when the client is not connected, or its agents are not restored yet.
func request(message, body):
	# An old id may be that of another agent in the new session.
	if not _is_restored:
		return _failed_request(1002, "not connected")
	return send_now(message, body)

# As request, also while the agents are being restored. For the client itself.
func send_now(message, body):
	if not _is_open:
		return _failed_request(1002, "not connected")
	_last_id += 1
	var frame = {"requestId": _last_id}
	frame[message] = body
	var error = _socket.get_peer(1).put_packet(JSON.print(frame).to_utf8())
	if error != OK:
		return _failed_request(1002, "the frame was not sent: error %d" % error)
	var request = Request.new()
	_pending[_last_id] = request
	return request

# The signal of a request that fails at once comes later, when its caller waits for it.
func _failed_request(code, message):
	var request = Request.new()
	request.call_deferred("emit_signal", "completed", _failure(code, message))
	return request

func _failure(code, message):
	return {"ok": false, "code": code, "message": message}

func _ready():
	set_process(_url != "")

func _process(_delta):
	_ended_socket = null
	if _socket != null:
		_socket.poll()
	elif OS.get_ticks_msec() >= _next_attempt_ms:
		_connect_socket()

func _connect_socket():
	_last_error = null
	_close_code = 0
	_socket = WebSocketClient.new()
	_socket.set_buffers(256, 4096, MAX_FRAME_KB, 1024)
	_socket.connect("connection_established", self, "_open")
	_socket.connect("connection_error", self, "_end", ["cannot connect to " + _url])
	_socket.connect("server_close_request", self, "_keep_close_code")
	_socket.connect("connection_closed", self, "_close")
	_socket.connect("data_received", self, "_receive")
	var headers = PoolStringArray()
	if _token != "":
		headers.append("Authorization: Bearer " + _token)
	if _socket.connect_to_url(_url, PoolStringArray(["turngraph.v1.json"]), false, headers) != OK:
		_end("cannot connect to " + _url)

func _open(_protocol):
	_socket.get_peer(1).set_write_mode(WebSocketPeer.WRITE_MODE_TEXT)
	_is_open = true
	_restore()

func _restore():
	var socket = _socket
	if not _configuration.empty():
		var answer = yield(send_now("configureSession", _configuration), "completed")
		if not answer.ok:
			_give_up(socket, answer)
			return
	for agent in _agents:
		var answer = yield(agent.create(), "completed")
		if not answer.ok:
			_give_up(socket, answer)
			return
	if socket != _socket:
		return
	_pause_ms = MIN_PAUSE_MS
	_is_restored = true
	is_ready = true
	emit_signal("connected")

# A refusal would be the same at the next attempt, unless the server shuts down.
func _give_up(socket, answer):
	if socket != _socket:
		return
	if answer.code != 2001:
		set_process(false)
		emit_signal("stopped", answer.message)
	_end(answer.message)

func _receive():
	var peer = _socket.get_peer(1)
	while peer.get_available_packet_count() > 0:
		var parsed = JSON.parse(peer.get_packet().get_string_from_utf8())
		if parsed.error == OK:
			_take(parsed.result)

func _take(frame):
	# Numbers are floats here, and the key 1.0 is another than 1.
	var id = int(frame.requestId)
	if id == 0 and frame.has("error"):
		_last_error = frame.error
	if not _pending.has(id):
		return
	var request = _pending[id]
	for message in frame:
		if message == "requestId" or message == "seq":
			continue
		var body = frame[message]
		request.emit_signal("frame", message, body)
		if not _is_final(message, body):
			continue
		_pending.erase(id)
		if message != "error":
			request.emit_signal("completed", {"ok": true, "body": body})
			continue
		if int(body.code) == 2001:
			is_ready = false
		request.emit_signal("completed", _failure(int(body.code), body.message))

func _is_final(message, body):
	if message == "exportDialog":
		return body.part == body.of
	return not message in ["answerText", "toolCallNotification", "nodeEvent", "modelProgress"]

func _keep_close_code(code, _reason):
	_close_code = code
	# Whatever is sent from now on has no answer.
	_is_open = false
	_is_restored = false

func _close(_was_clean):
	_end("the connection ended (close code %d)" % _close_code)

func _end(why):
	if _socket == null:
		return
	_ended_socket = _socket
	_socket = null
	_is_open = false
	_is_restored = false
	is_ready = false
	if _last_error != null:
		why = _last_error.message
	_next_attempt_ms = OS.get_ticks_msec() + _pause_ms + randi() % (_pause_ms / 2)
	_pause_ms = int(min(2 * _pause_ms, MAX_PAUSE_MS))
	var left = _pending.values()
	_pending = {}
	for request in left:
		request.emit_signal("completed", _failure(1002, why))
	_ended_socket.disconnect_from_host()
	if _close_code in FINAL_CLOSE_CODES:
		set_process(false)
		emit_signal("stopped", why)
	emit_signal("lost", why)
