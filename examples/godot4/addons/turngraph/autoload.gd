# The autoload Turngraph: the client of all agents of the game. It starts the server of the bundle "game-server", which is in
# the folder of the project, and beside the exported game. To take a server that runs already, call start in its place.
extends "res://addons/turngraph/turngraph.gd"

var _is_opened = false
var _opened = null             # the answer of open

static func bundle_folder():
	if OS.has_feature("editor"):
		return ProjectSettings.globalize_path("res://game-server")
	var folder = OS.get_executable_path().get_base_dir()
	return folder.path_join("../Resources/game-server" if OS.get_name() == "macOS" else "game-server")

# Starts the server on the first call, unless start was called before. Waits until the client is ready.
func open():
	if not _is_opened:
		_is_opened = true
		_opened = await _start_bundle() if _is_stopped else await wait_until_ready()
	while _opened == null:
		await get_tree().process_frame
	return _opened

func _start_bundle():
	var server = await start_server(bundle_folder())
	if not server.ok:
		return server
	start(server.url, server.token)
	return await wait_until_ready()

func _exit_tree():
	stop()
	stop_server()
