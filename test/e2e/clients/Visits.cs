using System;
using System.Linq;
using System.Threading;
using System.Threading.Tasks;
using Turngraph;

/// Visits malicious servers: maliciousVisits.ts. Arguments: their URLs.
internal static class Visits
{
    private const int ConnectMs = 5000;
    private const int AnswerMs = 8000;

    private static async Task<string> VisitAsync(TurngraphClient client, Action<string> begin)
    {
        await client.ReadyAsync();
        begin("agent");
        var agent = await client.CreateAgentAsync(new JsonObject { { "graphName", "chat" } });
        begin("turn");
        await agent.SendAsync("hello", null, call => { });
        begin("models");
        await client.ListModelsAsync();
        begin("export");
        await agent.ExportAsync();
        begin("search");
        await client.RequestAsync("searchStorage", new JsonObject { { "name", "lore" }, { "query", "fox" } });
        begin("load");
        await client.RequestAsync("loadModel", new JsonObject { { "modelName", "m" } });
        begin("cancel");
        await agent.CancelAsync();
        begin("destroy");
        await agent.DestroyAsync();
        begin("done");
        return "";
    }

    private static async Task RunAsync(string url, int way)
    {
        var step = "connect";
        var message = "";
        var limits = new TurngraphLimits
        {
            ConnectMs = ConnectMs, ReconnectMs = ConnectMs, RequestMs = AnswerMs, IdleMs = AnswerMs, AnswerBytes = 1 << 20,
        };
        var client = new TurngraphClient(url, limits: limits);
        try
        {
            message = await VisitAsync(client, next => step = next);
            await client.CloseAsync();
        }
        catch (TurngraphException error)
        {
            message = error.Message;
        }
        catch (Exception error)
        {
            message = "UNEXPECTED " + error;
        }
        await client.CloseAsync();
        Console.WriteLine("VISIT " + new JsonObject { { "way", way }, { "step", step }, { "message", message } });
    }

    private static void Main(string[] urls)
    {
        ThreadPool.SetMinThreads(200, 200);
        Task.WhenAll(urls.Select(RunAsync)).GetAwaiter().GetResult();
    }
}
