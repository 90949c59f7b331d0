# The dock: lists the graphs of a folder, starts a server, sends one message, and shows the reply and the calls.
@tool
extends VBoxContainer

var _client = preload("res://addons/turngraph/turngraph.gd").new()
var _server = _setting("server", "game-server")
var _folder = _setting("graphs", "game-server/graphs")
var _graphs = OptionButton.new()
var _message = LineEdit.new()
var _output = TextEdit.new()

func _ready():
	add_child(_client)
	_message.text = "Hello!"
	_output.editable = false
	_output.size_flags_vertical = SIZE_EXPAND_FILL
	_add("Server: a folder with the file turngraph", _server)
	_add("Graphs", _folder)
	_add_button("Start", _start)
	_add_button("Stop", _stop)
	_add("Graph", _graphs)
	_add("Message", _message)
	_add_button("Send", _send)
	add_child(_output)
	_folder.text_changed.connect(func(_text): _list())
	_list()

func _exit_tree():
	_stop()

# A folder, relative to the project, that this computer remembers.
func _setting(key, initial):
	var edit = LineEdit.new()
	var settings = EditorInterface.get_editor_settings()
	edit.text = settings.get_project_metadata("turngraph", key, initial)
	edit.text_changed.connect(func(value): settings.set_project_metadata("turngraph", key, value))
	return edit

func _add(title, control):
	var label = Label.new()
	label.text = title
	add_child(label)
	add_child(control)

func _add_button(title, pressed):
	var button = Button.new()
	button.text = title
	button.pressed.connect(pressed)
	add_child(button)

func _absolute(folder):
	return folder if folder.is_absolute_path() else ProjectSettings.globalize_path("res://" + folder)

func _list():
	_graphs.clear()
	for file in DirAccess.get_files_at(_absolute(_folder.text)):
		if file.ends_with(".json") and not file.ends_with(".schema.json"):
			_graphs.add_item(file.get_basename())

func _show(line):
	_output.text += line + "\n"

func _start():
	_stop()
	_list()
	var server = await _client.start_server(_absolute(_server.text), ["--graphs", _absolute(_folder.text)])
	if not server.ok:
		_show("not started: " + server.message)
		return
	var answer = await _client.connect_to_server(server.url, server.token)
	_show("started at " + server.url if answer.ok else "not connected: " + answer.message)

func _stop():
	_client.stop()
	_client.stop_server()

# To a new agent. Calls are shown and not run.
func _send():
	if not _client.is_ready:
		_show("no server: start it first")
		return
	if _graphs.selected < 0:
		_show("no graph: choose a folder with graphs")
		return
	var created = await _client.create_agent({"graphName": _graphs.get_item_text(_graphs.selected)})
	if not created.ok:
		_show("error: " + created.message)
		return
	for warning in created.agent.warnings:
		_show("warning: " + warning)
	created.agent.called.connect(func(detected): _show("call: %s %s" % [detected.toolName, detected.typedArgumentsJson]))
	created.agent.field.connect(func(key, value): _show("field: %s %s" % [key, JSON.stringify(value)]))
	var answer = await created.agent.send(_message.text, {}, {})
	_show("reply: " + answer.text if answer.ok else "error: " + answer.message)
	await created.agent.destroy()
