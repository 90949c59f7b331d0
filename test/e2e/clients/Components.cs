using System;
using System.IO;
using System.Threading.Tasks;
using Turngraph;
using Turngraph.Editor;
using UnityEditor;
using UnityEngine;

/// The components, the window's logic and the copy of the bundle. Arguments: a project with a bundle, a folder for the build,
/// and a folder of graphs.
internal static class Components
{
    private static readonly JsonObject Canned = JsonObject.Parse("{\"start_node\": \"a\", \"nodes\": {\"a\": {\"type\": \"CannedResponse\", " +
        "\"params\": {\"inline_strings\": [\"Of the project.\"]}}}}");

    private static void Main(string[] args)
    {
        new MainThread().Run(() => _ = RunAsync(args[0], args[1], args[2]));
    }

    private static async Task RunAsync(string project, string build, string graphs)
    {
        try
        {
            Application.dataPath = Path.Combine(project, "nothing", "Assets");
            await FailAsync();
            Application.dataPath = Path.Combine(project, "Assets");
            await TryAsync(project, graphs);
            CopyBundle.OnBuilt(BuildTarget.Android, Path.Combine(build, "Game.apk"));
            Debug.Log("for Android: old " + File.Exists(Path.Combine(build, TurngraphConnection.BundleName, "old.txt")));
            CopyBundle.OnBuilt(BuildTarget.StandaloneLinux64, Path.Combine(build, "Game.x86_64"));
            CopyBundle.OnBuilt(BuildTarget.StandaloneOSX, Path.Combine(build, "Game.app"));
            Application.dataPath = Path.Combine(build, "Game_Data");
            Debug.Log("for Linux: old " + File.Exists(Path.Combine(TurngraphConnection.BundleFolder, "old.txt")));
            await TalkAsync();
            Application.platform = RuntimePlatform.OSXPlayer;
            Application.dataPath = Path.Combine(build, "Game.app", "Contents");
            Debug.Log("for macOS: " + File.Exists(Path.Combine(TurngraphConnection.BundleFolder, "turngraph")));
            Debug.Log("done");
        }
        catch (Exception error)
        {
            Debug.Log("done with " + error);
        }
    }

    private static T Add<T>(T component) where T : MonoBehaviour
    {
        component.Call("Awake");
        return component;
    }

    /// Starts an agent. The task ends with its first turn, or with its first error.
    private static Task Start(TurngraphAgent agent, string message)
    {
        var ended = new TaskCompletionSource<bool>();
        agent.onReady.AddListener(() => Debug.Log("ready"));
        agent.onCall.AddListener(call => Debug.Log("call " + call.ToolName + " " + call.ArgumentsJson));
        agent.onField.AddListener((name, value) => Debug.Log("field " + name + " " + value));
        agent.onError.AddListener(why =>
        {
            Debug.Log("error " + why);
            ended.TrySetResult(false);
        });
        agent.onTurn.AddListener(turn =>
        {
            Debug.Log("turn " + turn.Status + (turn.Status == "CANCELLED" ? "" : " " + turn.Text));
            ended.TrySetResult(true);
        });
        agent.Call("Start");
        if (message != null) agent.Send(message);
        return ended.Task;
    }

    private static async Task FailAsync()
    {
        await Start(Add(new TurngraphAgent()), null);
        var connection = Add(new TurngraphConnection());
        await Start(Add(new TurngraphAgent()), null);
        connection.Call("OnDestroy");
    }

    private static async Task TryAsync(string project, string graphs)
    {
        using (var trial = new GraphTrial(line => Debug.Log("window " + line)))
        {
            Debug.Log("graphs " + string.Join(" ", GraphTrial.GraphsIn(graphs)) + "," + GraphTrial.GraphsIn("nowhere").Length);
            await trial.SendAsync("lamp-switch", "Hello!");
            await trial.StartAsync(Path.Combine(project, "nowhere"), graphs);
            await trial.StartAsync(Path.Combine(project, TurngraphConnection.BundleName), graphs);
            await trial.SendAsync("lamp-switch", "Please turn on the porch light.");
            await trial.SendAsync("nothing", "Hello!");
        }
    }

    private static async Task TalkAsync()
    {
        var connection = Add(new TurngraphConnection());
        await Start(Add(new TurngraphAgent { graph = new TextAsset(Canned.ToString()) }), "Hello!");
        await Start(Add(new TurngraphAgent { graphName = "no-such-graph" }), null);
        var weather = Add(new TurngraphAgent { graphName = "weather" });
        weather.Tools.Add("get_weather", call => "snow");
        await Start(weather, "What is the weather in Oslo?");
        await Start(Add(new TurngraphAgent { graphName = "innkeeper" }), "Have you a room?");
        var lamp = Add(new TurngraphAgent { graphName = "lamp-switch", history = weather.Agent.HistoryJson });
        lamp.onText.AddListener(piece => lamp.Cancel());
        await Start(lamp, "Tell me a story.");
        Debug.Log("saved " + lamp.Agent.HistoryJson);
        lamp.Call("OnDestroy");
        connection.Call("OnDestroy");
        Debug.Log("connection " + (TurngraphConnection.Current == null));
    }
}
