using Turngraph;
using UnityEngine;

/// <summary>A porch with a lamp. Put this beside a TurngraphConnection; the messages come out in the console.</summary>
public class Example : MonoBehaviour
{
    private async void Start()
    {
        var client = await TurngraphConnection.Current.ConnectAsync();

        // The graph can also be a JSON file of your own: { "graphJson", text }.
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
}
