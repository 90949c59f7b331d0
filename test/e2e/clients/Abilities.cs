using System;
using System.Collections.Generic;
using System.Linq;
using System.Threading.Tasks;
using Turngraph;
using UnityEngine;

/// With the URL of a server the example; with the folder of a bundle, too, what the example does not show.
internal static class Abilities
{
    private static void Main(string[] args)
    {
        new MainThread().Run(() =>
        {
            if (args.Length > 1)
            {
                _ = RunAsync(args[0], args[1]);
                return;
            }
            new TurngraphConnection { url = args[0] }.Call("Awake");
            new Example().Call("Start");
        });
    }

    private static async Task RunAsync(string url, string bundle)
    {
        try
        {
            await DownloadAsync(url);
            await StartServerAsync(bundle);
            Debug.Log("done");
        }
        catch (Exception error)
        {
            Debug.Log("done with " + error);
        }
    }

    private static async Task DownloadAsync(string url)
    {
        var client = new TurngraphClient(url);
        await client.ReadyAsync();
        var models = await client.ListModelsAsync();
        Debug.Log("models " + string.Join(" ", models.Select(model => model.Text("name") + ":" + model.Text("status"))));
        var suggested = await client.SuggestModelsAsync(new JsonObject { { "maxBytes", 1 } });
        Debug.Log("suggested " + suggested.List("models").Count() + " of " + (suggested.List("leftOut").Count() > 0));
        var phases = new List<string>();
        var size = await client.DownloadModelAsync("Tiny", progress =>
            phases.Add(progress.ModelName + " " + progress.Phase + " " + progress.Fraction + " " + progress.BytesTotal));
        Debug.Log("downloaded " + size + " after " + phases.Last());
        try
        {
            await client.DownloadModelAsync("Nowhere");
        }
        catch (TurngraphException error)
        {
            Debug.Log("refused " + error.Code + " " + error.Name);
        }
        var graph = JsonObject.Parse("{\"start_node\": \"a\", \"nodes\": {\"a\": {\"type\": \"CannedResponse\", " +
            "\"params\": {\"inline_strings\": [\"A \\\"quoted\\\" \\ud83e\\udd8a n\u00e4h \\\\ \\u0001\\n\"]}}}}");
        var agent = await client.CreateAgentAsync(new JsonObject { { "graph", graph } });
        var turn = await agent.SendAsync("Half a pair: \ud83e");
        Debug.Log("text " + string.Join(" ", turn.Text.Select(unit => ((int)unit).ToString("x"))));
        Debug.Log("path " + turn.Frame.List("path").OfType<JsonObject>().Single().Text("nodeName"));
        await agent.DestroyAsync();
        try
        {
            await agent.SendAsync("Are you there?");
        }
        catch (TurngraphException error)
        {
            Debug.Log("refused " + error.Code + " " + error.Name);
        }
        try
        {
            await client.RequestAsync("createAgent", new JsonObject { { "graphJson", new string('x', 1100000) } });
        }
        catch (TurngraphException error)
        {
            Debug.Log("refused " + error.Code + " " + error.Name);
        }
        await client.CloseAsync();
        try
        {
            await client.ListModelsAsync();
        }
        catch (TurngraphException error)
        {
            Debug.Log("closed " + error.Code);
        }
    }

    private static async Task StartServerAsync(string bundle)
    {
        var server = await TurngraphServer.StartAsync(bundle, "--resume-grace", "7");
        using (var client = new TurngraphClient(server.Url, server.Token))
        {
            await client.ReadyAsync();
            Debug.Log("started");
        }
        using (var client = new TurngraphClient(server.Url, "a wrong token"))
        {
            var stopped = new TaskCompletionSource<TurngraphException>();
            client.Stopped += error => stopped.TrySetResult(error);
            Debug.Log("wrong token " + (await stopped.Task).Message.Replace(server.Url, "URL"));
        }
        await server.StopAsync();
        Debug.Log("stopped " + server.HasExited);
        try
        {
            await TurngraphServer.StartAsync(bundle, "--slots", "many \"or\" few\\");
        }
        catch (TurngraphException error)
        {
            Debug.Log(error.Message.Replace("\n", " "));
        }
    }
}
