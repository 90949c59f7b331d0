# Adds the autoload and the dock.
@tool
extends EditorPlugin

var _dock

func _enable_plugin():
	add_autoload_singleton("Turngraph", "res://addons/turngraph/autoload.gd")

func _disable_plugin():
	remove_autoload_singleton("Turngraph")

func _enter_tree():
	_dock = preload("res://addons/turngraph/dock.gd").new()
	_dock.name = "Turngraph"
	add_control_to_dock(DOCK_SLOT_RIGHT_UL, _dock)

func _exit_tree():
	remove_control_from_docks(_dock)
	_dock.free()
