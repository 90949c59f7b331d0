using System;
using System.Threading.Tasks;
using Turngraph;

/// What each client has to survive; clientTrial.ts describes it. Arguments: the URL and the token.
internal static class Trial
{
    private static void Say(string line)
    {
        Console.WriteLine("TRIAL " + line);
        Console.Out.Flush();
    }

    private static async Task TurnAsync(Agent agent, string text, Action<string> onText)
    {
        var pieces = 0;
        var answer = "";
        try
        {
            var turn = await agent.SendAsync(text, piece =>
            {
                pieces += 1;
                answer += piece;
                if (pieces == 1) onText(piece);
            }, call => Say("call " + call.ToolName + " " + call.ArgumentsJson));
            Say("turn " + turn.Status + (turn.Status == "SUCCESS" ? " " + pieces + " " + answer : ""));
        }
        catch (TurngraphException error)
        {
            Say("failed " + error.Code);
        }
    }

    private static async Task RunAsync(string url, string token)
    {
        var mock = new JsonObject { { "engine", "mock" } };
        using (var client = new TurngraphClient(url, token, mock))
        {
            client.Lost += error => Say("lost " + error.Message);
            await client.ReadyAsync();
            var lamp = await client.CreateAgentAsync(new JsonObject { { "graphName", "lamp-switch" } });
            var chat = await client.CreateAgentAsync(new JsonObject { { "graphName", "chat" }, { "history", null } });
            try
            {
                await client.CreateAgentAsync(new JsonObject { { "graphName", "no-such-graph" } });
            }
            catch (TurngraphException error)
            {
                Say("refused " + error.Code);
            }
            await TurnAsync(lamp, "Please turn on the porch light.", piece => { });
            await TurnAsync(chat, "1970-01-01T00:00:00Z", piece => { });
            await TurnAsync(chat, "Tell me a story.", piece => { _ = chat.CancelAsync(); });

            Say("stop the server");
            try
            {
                while (true) await chat.ExportAsync();
            }
            catch (TurngraphException error)
            {
                Say("failed " + error.Code);
            }
            await TurnAsync(chat, "Too late.", piece => { });
            await client.ReadyAsync();
            await TurnAsync(chat, "After the stop.", piece => { });

            await TurnAsync(chat, "Tell me a story.", piece => Say("kill the server"));
            await TurnAsync(chat, "Too late.", piece => { });
            await client.ReadyAsync();
            await TurnAsync(chat, "After the kill.", piece => { });

            await TurnAsync(chat, "Tell me a story.", piece => Say("restart the server"));
            await TurnAsync(lamp, "Please turn on the porch light.", piece => { });
            await client.ReadyAsync();
            await TurnAsync(lamp, "Please turn on the porch light.", piece => { });
            Say("dialog " + await chat.ExportAsync());
            Say("dialog " + await lamp.ExportAsync());
        }
        Say("done");
    }

    private static void Main(string[] args)
    {
        RunAsync(args[0], args[1]).GetAwaiter().GetResult();
    }
}
