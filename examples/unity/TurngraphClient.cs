using System;
using System.Collections.Generic;
using System.IO;
using System.Net.WebSockets;
using System.Text;
using System.Threading;
using System.Threading.Tasks;
using Newtonsoft.Json;
using Newtonsoft.Json.Linq;

namespace Turngraph
{
    /// <summary>A refused request (the server's code), or a connection that failed (1001) or ended (1002).</summary>
    public sealed class TurngraphException : Exception
    {
        public readonly int Code;
        public readonly string Name;

        public TurngraphException(int code, string name, string message)
            : base(code + " " + name + ": " + message)
        {
            Code = code;
            Name = name;
        }
    }

    /// <summary>
    /// A connection that is made again whenever it ends, and the agents on it, which are then restored. It starts to connect at
    /// once; await <see cref="ReadyAsync"/>. In Unity create it on the main thread, then all callbacks are called there.
    /// </summary>
    public sealed class TurngraphClient : IDisposable
    {
        private const int MinPauseMs = 250;
        private const int MaxPauseMs = 8000;

        private readonly string url;
        private readonly string token;
        private readonly JObject configuration;
        private readonly List<Agent> agents = new List<Agent>();
        private readonly CancellationTokenSource stop = new CancellationTokenSource();
        private readonly object gate = new object();
        private TaskCompletionSource<int> ready = NewReady();
        private Connection current;

        /// <summary>Called with the reason when the connection has ended, and when an attempt to connect has failed.</summary>
        public event Action<string> Lost;

        /// <param name="configuration">The configureSession of each session, or null.</param>
        public TurngraphClient(string url, string token = null, JObject configuration = null)
        {
            this.url = url;
            this.token = token;
            this.configuration = configuration;
            _ = KeepConnectedAsync();
        }

        /// <summary>
        /// Ends when the client is connected, all agents are restored, and the server is not shutting down. Fails when the agents
        /// cannot be restored.
        /// </summary>
        public Task ReadyAsync()
        {
            lock (gate) return ready.Task;
        }

        /// <param name="createAgent">The fields of createAgent, such as graphName.</param>
        public async Task<Agent> CreateAgentAsync(JObject createAgent)
        {
            var connection = Current;
            var agent = new Agent(this, createAgent);
            await agent.CreateAsync(connection);
            lock (gate) agents.Add(agent);
            return agent;
        }

        /// <summary>Sends any request, such as listModels. Fails at once when there is no connection.</summary>
        public Task<JObject> RequestAsync(string message, JObject body, Action<string, JObject> onFrame = null)
        {
            return Current.RequestAsync(message, body, onFrame);
        }

        public void Dispose()
        {
            stop.Cancel();
            Connection last;
            lock (gate) last = current;
            if (last != null) last.Dispose();
        }

        internal Connection Current
        {
            get
            {
                lock (gate)
                {
                    if (current != null) return current;
                    throw new TurngraphException(1002, "CONNECTION_DROPPED", "not connected; await ReadyAsync");
                }
            }
        }

        private static TaskCompletionSource<int> NewReady()
        {
            return new TaskCompletionSource<int>(TaskCreationOptions.RunContinuationsAsynchronously);
        }

        private async Task KeepConnectedAsync()
        {
            var random = new Random();
            var pauseMs = MinPauseMs;
            try
            {
                while (true)
                {
                    Connection connection = null;
                    string why;
                    try
                    {
                        connection = await Connection.OpenAsync(url, token, Disconnect, NotReady, stop.Token);
                        await RestoreAsync(connection);
                        pauseMs = MinPauseMs;
                        var end = await connection.Ended;
                        if (!connection.MayReturn) throw end;
                        why = end.Message;
                    }
                    catch (TurngraphException error)
                    {
                        // An answer that would be the same at the next attempt.
                        var isRefused = connection != null && !connection.Ended.IsCompleted && error.Code != 2001;
                        if (isRefused || (connection != null && !connection.MayReturn)) throw;
                        why = error.Message;
                    }
                    finally
                    {
                        if (connection != null) connection.Dispose();
                    }
                    if (Lost != null) Lost(why);
                    await Task.Delay(pauseMs + random.Next(pauseMs / 2), stop.Token);
                    pauseMs = Math.Min(2 * pauseMs, MaxPauseMs);
                }
            }
            catch (Exception error)
            {
                lock (gate) ready.TrySetException(error);
            }
        }

        private async Task RestoreAsync(Connection connection)
        {
            if (configuration != null) await connection.RequestAsync("configureSession", configuration, null);
            Agent[] all;
            lock (gate) all = agents.ToArray();
            foreach (var agent in all) await agent.CreateAsync(connection);
            lock (gate)
            {
                if (connection.Ended.IsCompleted) return;
                current = connection;
                ready.TrySetResult(0);
            }
        }

        private void Disconnect()
        {
            lock (gate) current = null;
            NotReady();
        }

        private void NotReady()
        {
            lock (gate)
            {
                if (ready.Task.IsCompleted) ready = NewReady();
            }
        }
    }

    /// <summary>One conversation. It outlives connections.</summary>
    public sealed class Agent
    {
        private readonly TurngraphClient client;
        private readonly JObject createAgent;
        private uint id;

        internal Agent(TurngraphClient client, JObject createAgent)
        {
            this.client = client;
            this.createAgent = createAgent;
        }

        /// <summary>The dialog after the last turn, as JSON text for the saved game; null before the first turn.</summary>
        public string HistoryJson { get; private set; }

        /// <summary>
        /// Sends one message of the player. The result is the turnComplete. When the connection ends, the task fails with 1002 at
        /// once, and the turn is lost.
        /// </summary>
        /// <param name="onText">Called with each piece of the answer.</param>
        /// <param name="onCall">Called with each toolCallNotification.</param>
        public async Task<JObject> SendAsync(string text, Action<string> onText = null, Action<JObject> onCall = null)
        {
            var body = new JObject { { "agentId", id }, { "text", text } };
            var turn = await client.RequestAsync("sendMessage", body, (message, frame) =>
            {
                if (message == "answerText" && onText != null && (string)frame["text"] != "") onText((string)frame["text"]);
                if (message == "toolCallNotification" && onCall != null) onCall(frame);
            });
            try
            {
                await ExportAsync();
            }
            catch (TurngraphException)
            {
                // The turn is complete, but the connection has ended: the saved dialog is without this turn.
            }
            return turn;
        }

        /// <summary>Cancels the running turn, if there is one; its SendAsync then ends with status CANCELLED.</summary>
        public Task CancelAsync()
        {
            return client.RequestAsync("cancelTurn", new JObject { { "agentId", id } });
        }

        /// <summary>Fetches the dialog into <see cref="HistoryJson"/>.</summary>
        public async Task<string> ExportAsync()
        {
            var parts = new StringBuilder();
            await client.RequestAsync("exportDialog", new JObject { { "agentId", id } }, (message, frame) =>
            {
                if (message == "exportDialog") parts.Append((string)frame["historyJson"]);
            });
            HistoryJson = parts.ToString();
            return HistoryJson;
        }

        internal async Task CreateAsync(Connection connection)
        {
            var body = (JObject)createAgent.DeepClone();
            if (HistoryJson != null)
            {
                body.Remove("history");
                body["historyJson"] = HistoryJson;
            }
            var created = await connection.RequestAsync("createAgent", body, null);
            id = (uint)created["agentId"];
        }
    }

    /// <summary>One WebSocket, until it ends.</summary>
    internal sealed class Connection : IDisposable
    {
        private sealed class Pending
        {
            public Action<string, JObject> OnFrame;
            public readonly TaskCompletionSource<JObject> Final =
                new TaskCompletionSource<JObject>(TaskCreationOptions.RunContinuationsAsynchronously);
        }

        private readonly ClientWebSocket socket = new ClientWebSocket();
        private readonly Dictionary<uint, Pending> pending = new Dictionary<uint, Pending>();
        private readonly TaskCompletionSource<TurngraphException> ended =
            new TaskCompletionSource<TurngraphException>(TaskCreationOptions.RunContinuationsAsynchronously);
        private readonly Action onEnd;
        private readonly Action onShutdown;
        private Task lastSend = Task.FromResult(0);
        private TurngraphException end;
        private TurngraphException lastError;
        private uint lastId;

        private Connection(Action onEnd, Action onShutdown)
        {
            this.onEnd = onEnd;
            this.onShutdown = onShutdown;
        }

        /// <summary>Ends with the reason when the connection has ended; it never fails.</summary>
        public Task<TurngraphException> Ended
        {
            get { return ended.Task; }
        }

        /// <summary>Whether to connect again after the end: not after a close code that the next attempt would get, too.</summary>
        public bool MayReturn { get; private set; } = true;

        /// <param name="onEnd">Called once, before the pending requests fail.</param>
        /// <param name="onShutdown">Called when the server refuses a request because it shuts down.</param>
        public static async Task<Connection> OpenAsync(string url, string token, Action onEnd, Action onShutdown,
            CancellationToken stop)
        {
            var connection = new Connection(onEnd, onShutdown);
            connection.socket.Options.AddSubProtocol("turngraph.v1.json");
            if (token != null) connection.socket.Options.SetRequestHeader("Authorization", "Bearer " + token);
            try
            {
                await connection.socket.ConnectAsync(new Uri(url), stop);
            }
            catch (Exception error)
            {
                connection.socket.Dispose();
                stop.ThrowIfCancellationRequested();
                throw new TurngraphException(1001, "CONNECTION_FAILED", error.Message);
            }
            _ = connection.ReceiveAsync();
            return connection;
        }

        /// <summary>Sends one request. The task ends with the final answer; onFrame gets each frame, the last one included.</summary>
        public Task<JObject> RequestAsync(string message, JObject body, Action<string, JObject> onFrame)
        {
            var request = new Pending { OnFrame = onFrame };
            lock (pending)
            {
                // The socket cannot be asked: after the server's close frame it still sends, and nobody answers.
                if (end != null) return Task.FromException<JObject>(end);
                lastId += 1;
                pending.Add(lastId, request);
                var frame = new JObject { { "requestId", lastId }, { message, body } };
                lastSend = SendAfterAsync(lastSend, frame.ToString(Formatting.None));
            }
            return request.Final.Task;
        }

        public void Dispose()
        {
            End("closed by the client");
            socket.Dispose();
        }

        /// <summary>ClientWebSocket takes one send at a time.</summary>
        private async Task SendAfterAsync(Task previous, string text)
        {
            await previous;
            try
            {
                var bytes = new ArraySegment<byte>(Encoding.UTF8.GetBytes(text));
                await socket.SendAsync(bytes, WebSocketMessageType.Text, true, CancellationToken.None);
            }
            catch (Exception error)
            {
                End(error.Message);
            }
        }

        private async Task ReceiveAsync()
        {
            var buffer = new byte[65536];
            try
            {
                while (true)
                {
                    var text = new MemoryStream();
                    WebSocketReceiveResult part;
                    do
                    {
                        part = await socket.ReceiveAsync(new ArraySegment<byte>(buffer), CancellationToken.None);
                        text.Write(buffer, 0, part.Count);
                    } while (!part.EndOfMessage);
                    if (part.MessageType == WebSocketMessageType.Close)
                    {
                        var code = (int)(part.CloseStatus ?? WebSocketCloseStatus.Empty);
                        MayReturn = code != 1002 && code != 4401 && code != 4406 && code != 4409;
                        End("closed by the server: " + code + " " + part.CloseStatusDescription);
                        return;
                    }
                    Take(Parse(Encoding.UTF8.GetString(text.ToArray())));
                }
            }
            catch (Exception error)
            {
                End(error.Message);
            }
        }

        private static JObject Parse(string text)
        {
            using (var reader = new JsonTextReader(new StringReader(text)))
            {
                // Otherwise a text that looks like a date becomes a DateTime.
                reader.DateParseHandling = DateParseHandling.None;
                return JObject.Load(reader);
            }
        }

        private void Take(JObject frame)
        {
            var id = (uint)frame["requestId"];
            var error = frame["error"];
            if (id == 0)
            {
                if (error != null) lastError = ToException(error);
                return;
            }
            Pending request;
            lock (pending)
            {
                if (!pending.TryGetValue(id, out request)) return;
            }
            foreach (var property in frame.Properties())
            {
                if (property.Name == "requestId" || property.Name == "seq") continue;
                var body = (JObject)property.Value;
                Exception failure = error != null ? ToException(error) : null;
                try
                {
                    if (request.OnFrame != null) request.OnFrame(property.Name, body);
                }
                catch (Exception thrown)
                {
                    failure = thrown;
                }
                if (failure == null && !IsFinal(property.Name, body)) continue;
                lock (pending) pending.Remove(id);
                if (error != null && (int)error["code"] == 2001) onShutdown();
                if (failure != null) request.Final.TrySetException(failure);
                else request.Final.TrySetResult(body);
            }
        }

        private static bool IsFinal(string message, JObject body)
        {
            switch (message)
            {
                case "answerText":
                case "toolCallNotification":
                case "nodeEvent":
                case "modelProgress":
                    return false;
                case "exportDialog":
                    return (uint)body["part"] == (uint)body["of"];
                default:
                    return true;
            }
        }

        private static TurngraphException ToException(JToken error)
        {
            return new TurngraphException((int)error["code"], (string)error["name"], (string)error["message"]);
        }

        private void End(string why)
        {
            List<Pending> left;
            lock (pending)
            {
                if (end != null) return;
                end = lastError ?? new TurngraphException(1002, "CONNECTION_DROPPED", why);
                left = new List<Pending>(pending.Values);
                pending.Clear();
            }
            // Who is told of a failed request may ask at once whether the client is ready.
            ended.TrySetResult(end);
            onEnd();
            foreach (var request in left) request.Final.TrySetException(end);
            socket.Abort();
        }
    }
}
