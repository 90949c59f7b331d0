# Visits malicious servers: maliciousVisits.ts. The arguments that are URLs are theirs.
extends SceneTree

const CONNECT_MS = 8000
const ANSWER_MS = 12000

func _init():
	var way = 0
	for argument in OS.get_cmdline_args():
		if argument.begins_with("ws://"):
			_visit(argument, way)
		if argument.begins_with("ws://") or argument == "none":
			way += 1

func _visit(url, way):
	var client = load("turngraph.gd").new()
	get_root().add_child(client)
	client.connect_ms = CONNECT_MS
	client.reconnect_ms = CONNECT_MS
	client.request_ms = ANSWER_MS
	client.idle_ms = ANSWER_MS
	client.answer_bytes = 1048576
	client.start(url)
	var visit = {"way": way, "step": "connect"}
	var answer = yield(client.wait_until_ready(), "completed")
	if answer.ok:
		answer = yield(_use(client, visit), "completed")
	visit["message"] = "" if answer.ok else "%d %s" % [answer.code, answer.message]
	client.stop()
	while not client.is_closed():
		yield(self, "idle_frame")
	print("VISIT ", JSON.print(visit))

func _use(client, visit):
	visit.step = "agent"
	var answer = yield(client.create_agent({"graphName": "chat"}), "completed")
	if not answer.ok:
		return answer
	var agent = answer.agent
	visit.step = "turn"
	answer = yield(agent.send("hello"), "completed")
	if not answer.ok:
		return answer
	visit.step = "models"
	answer = yield(client.list_models(), "completed")
	if not answer.ok:
		return answer
	visit.step = "export"
	answer = yield(agent.export_dialog(), "completed")
	if not answer.ok:
		return answer
	visit.step = "search"
	answer = yield(client.request("searchStorage", {"name": "lore", "query": "fox"}), "completed")
	if not answer.ok:
		return answer
	visit.step = "load"
	answer = yield(client.request("loadModel", {"modelName": "m"}), "completed")
	if not answer.ok:
		return answer
	visit.step = "cancel"
	answer = yield(agent.cancel(), "completed")
	if not answer.ok:
		return answer
	visit.step = "destroy"
	answer = yield(agent.destroy(), "completed")
	if answer.ok:
		visit.step = "done"
	return answer
