using System.IO;
using Turngraph;
using UnityEngine;

/// <summary>A porch with a lamp. Put this on any object; the messages come out in the console.</summary>
public class Example : MonoBehaviour
{
    /// The folder that "turngraph bundle" has made, inside of StreamingAssets; empty: a server that runs already, at url.
    public string bundle = "";
    public string url = "ws://127.0.0.1:9100";

    private TurngraphServer server;
    private TurngraphClient client;

    private async void Start()
    {
        string token = null;
        if (bundle != "")
        {
            server = await TurngraphServer.StartAsync(Path.Combine(Application.streamingAssetsPath, bundle));
            url = server.Url;
            token = server.Token;
        }
        client = new TurngraphClient(url, token);
        client.Lost += error => Debug.Log("connecting again: " + error.Message);
        client.Resumed += () => Debug.Log("the session goes on");
        client.Restarted += () => Debug.Log("a new session, with the saved dialogs");
        await client.ReadyAsync();

        // The graph can also be a JSON file of your own: { "graphJson", File.ReadAllText(path) }.
        var lamp = await client.CreateAgentAsync(new JsonObject { { "graphName", "lamp-switch" } });
        await lamp.SendAsync("Please turn on the porch light.", onCall: call => Debug.Log(call.ToolName + " " + call.ArgumentsJson));
        var answer = await lamp.SendAsync("Thank you!", onText: piece => Debug.Log("piece: " + piece));
        Debug.Log("lamp: " + answer.Text);

        // This graph waits for the results of its calls.
        var weather = await client.CreateAgentAsync(new JsonObject { { "graphName", "weather" } });
        var forecast = await weather.SendAsync("What is the weather in Oslo?",
            onCall: call => Debug.Log(call.ToolName + " " + call.ArgumentsJson),
            tools: new ToolTable { { "get_weather", call => "snow" } });
        Debug.Log("weather: " + forecast.Text);

        var story = lamp.SendAsync("Tell me a story.");
        await lamp.CancelAsync();
        Debug.Log("story: " + (await story).Status);
        Debug.Log("saved: " + lamp.HistoryJson);
    }

    private void OnDestroy()
    {
        if (client != null) client.Dispose();
        if (server != null) server.Dispose();
    }
}
