using System;
using System.IO;
using System.Linq;
using System.Threading.Tasks;

namespace Turngraph.Editor
{
    /// <summary>What the window does: starts a server, sends one message to a graph, and tells what comes back.</summary>
    public sealed class GraphTrial : IDisposable
    {
        private readonly Action<string> tell;
        private TurngraphServer server;
        private TurngraphClient client;

        public GraphTrial(Action<string> tell)
        {
            this.tell = tell;
        }

        public bool IsRunning
        {
            get { return server != null && !server.HasExited; }
        }

        /// <summary>The names of the graphs of a folder; none where there is no folder.</summary>
        public static string[] GraphsIn(string folder)
        {
            if (!Directory.Exists(folder)) return new string[0];
            return Directory.GetFiles(folder, "*.json").Where(file => !file.EndsWith(".schema.json"))
                .Select(Path.GetFileNameWithoutExtension).OrderBy(name => name).ToArray();
        }

        /// <param name="program">A folder with the file turngraph or turngraph.cmd: a bundle, or node_modules/.bin.</param>
        public async Task StartAsync(string program, string graphs)
        {
            Dispose();
            try
            {
                server = await TurngraphServer.StartAsync(Path.GetFullPath(program), "--graphs", Path.GetFullPath(graphs));
                client = new TurngraphClient(server.Url, server.Token);
                await client.ReadyAsync();
                tell("started at " + server.Url);
            }
            catch (Exception error)
            {
                Dispose();
                tell("not started: " + error.Message);
            }
        }

        /// <summary>Sends a message to a new agent. Calls are shown and not run.</summary>
        public async Task SendAsync(string graphName, string text)
        {
            if (!IsRunning)
            {
                tell("no server: start it first");
                return;
            }
            try
            {
                var agent = await client.CreateAgentAsync(new JsonObject { { "graphName", graphName } });
                foreach (var warning in agent.Warnings) tell("warning: " + warning);
                var turn = await agent.SendAsync(text, onCall: call => tell("call: " + call.ToolName + " " + call.ArgumentsJson),
                    tools: new ToolTable(), onField: (name, value) => tell("field: " + name + " " + JsonObject.ToJson(value)));
                tell("reply: " + turn.Text);
                await agent.DestroyAsync();
            }
            catch (TurngraphException error)
            {
                tell("error: " + error.Message);
            }
        }

        /// <summary>Stops the server.</summary>
        public void Dispose()
        {
            if (client != null) client.Dispose();
            if (server != null) server.Dispose();
            client = null;
            server = null;
        }
    }
}
