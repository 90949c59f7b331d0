using System;
using System.Collections.Generic;
using System.Text;
using System.Threading.Tasks;
using Turngraph;

/// <summary>
/// Speaks the commands of "turngraph conformance --client" for the client in Turngraph.cs, and those of
/// test/e2e/clients/scenarios.json. One JSON command a line comes on standard input, one JSON event a line goes to standard
/// output.
/// </summary>
internal static class Conform
{
    /// <summary>The exit code for what a client does not support.</summary>
    private const int NotSupported = 77;

    private static readonly Dictionary<string, Agent> Agents = new Dictionary<string, Agent>();
    private static TurngraphClient client;

    private static int Main()
    {
        // The client has the JSON form only.
        var codec = Environment.GetEnvironmentVariable("TURNGRAPH_CODEC");
        if (!string.IsNullOrEmpty(codec) && codec != "turngraph.v1.json") return NotSupported;
        Console.InputEncoding = new UTF8Encoding(false);
        Console.OutputEncoding = new UTF8Encoding(false);
        string line;
        while ((line = Console.ReadLine()) != null)
        {
            var command = JsonObject.Parse(line);
            var done = RunAsync(command);
            if (command.Text("do") == "close")
            {
                done.Wait();
                return 0;
            }
        }
        if (client != null) client.CloseAsync().Wait();
        return 0;
    }

    private static async Task RunAsync(JsonObject command)
    {
        var id = command["id"];
        try
        {
            await DoAsync(id, command);
        }
        catch (TurngraphException error)
        {
            Emit(id, "error", new JsonObject { { "code", error.Code }, { "message", error.Message } });
        }
        catch (Exception error)
        {
            Emit(id, "error", new JsonObject { { "code", 0 }, { "message", error.Message } });
        }
    }

    private static async Task DoAsync(object id, JsonObject command)
    {
        switch (command.Text("do"))
        {
            case "connect":
                await ConnectAsync(command);
                Emit(id, "connected", new JsonObject { { "session", client.SessionId } });
                break;
            case "create_agent":
                Emit(id, "agent", await CreateAsync(command));
                break;
            case "send":
                await SendAsync(id, AgentOf(command), command);
                break;
            case "export":
                var dialog = JsonObject.Parse("{\"dialog\":" + await AgentOf(command).ExportDialogAsync() + "}");
                Emit(id, "dialog", dialog);
                break;
            case "change":
                await AgentOf(command).ChangeParamsAsync(command.Text("node"), command.Object("params"));
                Emit(id, "ok", new JsonObject());
                break;
            case "destroy":
                await AgentOf(command).DestroyAsync();
                Emit(id, "ok", new JsonObject());
                break;
            case "report_frame":
                if (client == null) throw NotConnected();
                client.ReportFrame(command.Number("ms"), command.Number("target_ms"));
                Emit(id, "ok", new JsonObject());
                break;
            case "request":
                if (client == null) throw NotConnected();
                var answer = await client.RequestAsync(command.Text("name"), command.Object("body"));
                Emit(id, "answer", new JsonObject { { "body", answer } });
                break;
            case "results":
                await AgentOf(command).SubmitToolResultsAsync(ResultsOf(command));
                Emit(id, "ok", new JsonObject());
                break;
            case "cancel":
                await AgentOf(command).CancelAsync();
                Emit(id, "ok", new JsonObject());
                break;
            case "close":
                if (client != null) await client.CloseAsync();
                Emit(id, "closed", new JsonObject());
                break;
            default:
                throw new NotSupportedException("there is no command \"" + command.Text("do") + "\"");
        }
    }

    private static TurngraphException NotConnected()
    {
        return new TurngraphException(1002, "CONNECTION_DROPPED", "not connected");
    }

    private static async Task ConnectAsync(JsonObject command)
    {
        var token = command.Text("token");
        var limits = new TurngraphLimits();
        if (command.ContainsKey("idle_ms")) limits.IdleMs = command.Int("idle_ms");
        try
        {
            client = await TurngraphClient.ConnectAsync(Environment.GetEnvironmentVariable("TURNGRAPH_URL"),
                token == "" ? null : token, null, limits);
        }
        catch (TurngraphException error)
        {
            throw error.Code == 1002 ? new TurngraphException(1001, "CONNECTION_FAILED", error.Message) : error;
        }
        client.Resumed += () => Emit(null, "resumed", new JsonObject());
        client.Restarted += () => Emit(null, "restarted", new JsonObject());
        client.Stopped += error => Emit(null, "lost", new JsonObject());
    }

    private static async Task<JsonObject> CreateAsync(JsonObject command)
    {
        var create = new JsonObject { { "graph", command.Object("graph") } };
        if (command.ContainsKey("dialog")) create["history"] = command["dialog"];
        if (client == null) throw NotConnected();
        var agent = await client.CreateAgentAsync(create);
        lock (Agents)
        {
            var name = "agent-" + (Agents.Count + 1);
            Agents.Add(name, agent);
            return new JsonObject { { "agent", name }, { "warnings", agent.Warnings } };
        }
    }

    private static async Task SendAsync(object id, Agent agent, JsonObject command)
    {
        var turn = await agent.SendAsync(command.Text("text"),
            piece => Emit(id, "text", new JsonObject { { "text", piece } }),
            call => Emit(id, "call", new JsonObject
            {
                { "call", call.CallId }, { "name", call.ToolName }, { "arguments", call.Arguments },
            }),
            tools: command.ContainsKey("tools") ? ToolsOf(command.Object("tools")) : null,
            onField: (name, value) => Emit(id, "field", new JsonObject { { "name", name }, { "value", value } }));
        Emit(id, "complete", new JsonObject
        {
            { "text", turn.Text }, { "status", turn.Status }, { "reason", turn.Frame.Text("stopReason") },
            { "warnings", turn.Warnings },
        });
    }

    /// <summary>The functions that a command describes.</summary>
    private static ToolTable ToolsOf(JsonObject behaviours)
    {
        var tools = new ToolTable();
        foreach (var name in behaviours.Keys)
        {
            var behaviour = behaviours.Object(name);
            tools.Add(name, call =>
            {
                if (behaviour.ContainsKey("fails")) throw new IndexOutOfRangeException(behaviour.Text("fails"));
                object returns;
                behaviour.TryGetValue("returns", out returns);
                return returns;
            });
        }
        return tools;
    }

    private static List<JsonObject> ResultsOf(JsonObject command)
    {
        var results = new List<JsonObject>();
        foreach (JsonObject result in command.List("results"))
        {
            var content = result.Text("content");
            results.Add(new JsonObject { { "callId", result.Text("call") }, { "content", content }, { "ok", result.Flag("ok") } });
        }
        return results;
    }

    private static Agent AgentOf(JsonObject command)
    {
        lock (Agents)
        {
            Agent agent;
            if (Agents.TryGetValue(command.Text("agent"), out agent)) return agent;
            throw new ArgumentException("there is no agent \"" + command.Text("agent") + "\"");
        }
    }

    private static void Emit(object id, string name, JsonObject fields)
    {
        var line = new JsonObject();
        if (id != null) line["id"] = id;
        line["event"] = name;
        foreach (var field in fields) line[field.Key] = field.Value;
        lock (Agents)
        {
            Console.WriteLine(line);
            Console.Out.Flush();
        }
    }
}
