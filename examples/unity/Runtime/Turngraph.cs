// The client of turngraph for Unity and .NET, in one file that needs C# 7.2 and nothing else.
//
// - TurngraphServer starts the server of a bundle, and stops it.
// - TurngraphClient connects, resumes its session when the connection drops, and restores its agents when the session is lost.
// - Agent is one conversation: messages in, streamed text and calls out.
// - JsonObject reads and writes the JSON of the frames.
using System;
using System.Collections.Generic;
using System.Diagnostics;
using System.Globalization;
using System.IO;
using System.Linq;
using System.Net;
using System.Net.WebSockets;
using System.Security.Cryptography;
using System.Text;
using System.Text.RegularExpressions;
using System.Threading;
using System.Threading.Tasks;

namespace Turngraph
{
    /// <summary>
    /// A refused request or a turn that failed (the server's code), or a connection that failed (1001) or ended (1002).
    /// </summary>
    public sealed class TurngraphException : Exception
    {
        public readonly int Code;
        public readonly string Name;
        /// <summary>The message without code and name.</summary>
        public readonly string Sentence;
        /// <summary>The turn that failed; null for other errors.</summary>
        public Turn Turn { get; internal set; }

        public TurngraphException(int code, string name, string message)
            : base(code + " " + name + ": " + message)
        {
            Code = code;
            Name = name;
            Sentence = message;
        }

        internal static TurngraphException From(JsonObject error)
        {
            return new TurngraphException(error.Int("code"), error.Text("name"), error.Text("message"));
        }

        internal static TurngraphException Malformed(string why)
        {
            return new TurngraphException(5001, "MALFORMED_MESSAGE", why);
        }

        internal static TurngraphException Dropped(string why)
        {
            return new TurngraphException(1002, "CONNECTION_DROPPED", why);
        }
    }

    /// <summary>What a client takes from a server that hangs, is broken or malicious.</summary>
    public sealed class TurngraphLimits
    {
        /// <summary>Milliseconds for an attempt to connect.</summary>
        public int ConnectMs = 10000;
        /// <summary>Milliseconds without a connection that lasts or brings an answer, after which the client stops.</summary>
        public int ReconnectMs = 600000;
        /// <summary>Milliseconds for the answer to a request, which then fails with 1003.</summary>
        public int RequestMs = 60000;
        /// <summary>
        /// The same for turns, and for requests that load or search: milliseconds without a new frame. It has to be more than the
        /// server's --turn-timeout and the results_timeout_ms of a graph. Pauses by setPace do not count.
        /// </summary>
        public int IdleMs = 300000;
        /// <summary>Bytes of a frame. After a larger one the session is lost.</summary>
        public int FrameBytes = 1 << 20;
        /// <summary>Bytes of all frames of an answer; the request then fails with 2005.</summary>
        public int AnswerBytes = 1 << 24;
    }

    /// <summary>Progress of a model that is downloaded or loaded.</summary>
    public sealed class ModelProgress
    {
        public string ModelName;
        /// <summary>DOWNLOADING or LOADING.</summary>
        public string Phase;
        /// <summary>0 to 1; stays 0 while the size is unknown.</summary>
        public double Fraction;
        public double BytesDone;
        public double BytesTotal;
    }

    /// <summary>A call that the model asks for. Whether it is run is decided here: the server never runs one.</summary>
    public sealed class ToolCall
    {
        public string CallId;
        public string ToolName;
        /// <summary>The arguments with the declared types, as JSON text and as values.</summary>
        public string ArgumentsJson;
        public JsonObject Arguments;
        /// <summary>Whether the graph declares a tool of this name; check it before anything else.</summary>
        public bool IsKnown;
        /// <summary>Ask the player before you run it.</summary>
        public bool IsConsequential;
        /// <summary>The turn waits for its result: <see cref="Agent.SubmitToolResultsAsync"/>.</summary>
        public bool AwaitsResult;
        /// <summary>How probable it is, 0 to 1; null: the engine does not know it.</summary>
        public double? Confidence;
        /// <summary>All fields of the toolCallNotification.</summary>
        public JsonObject Frame;
    }

    /// <summary>
    /// Functions by tool name, for <see cref="Agent.SendAsync"/>: new ToolTable { { "get_weather", call => "18 degrees" } }. The
    /// result is text, or what <see cref="JsonObject"/> holds, or null for "ok"; an exception is a failure with its message. A
    /// function can be an async lambda.
    /// </summary>
    public sealed class ToolTable : Dictionary<string, Func<ToolCall, Task<object>>>
    {
        public new void Add(string toolName, Func<ToolCall, Task<object>> run)
        {
            base.Add(toolName, run);
        }

        public void Add(string toolName, Func<ToolCall, object> run)
        {
            base.Add(toolName, call => Task.FromResult(run(call)));
        }
    }

    /// <summary>A turn that has ended.</summary>
    public sealed class Turn
    {
        /// <summary>All text of the answer.</summary>
        public string Text;
        /// <summary>The fields of the answer, in addition to its text: strings and numbers.</summary>
        public JsonObject Fields = new JsonObject();
        /// <summary>All calls, in their order.</summary>
        public List<ToolCall> Calls = new List<ToolCall>();
        /// <summary>SUCCESS or CANCELLED; ERROR in the <see cref="TurngraphException.Turn"/> of an exception.</summary>
        public string Status;
        /// <summary>One sentence each.</summary>
        public List<string> Warnings;
        /// <summary>Why it failed; null unless the status is ERROR, or the server shut down.</summary>
        public TurngraphException Error;
        /// <summary>All fields of the turnComplete.</summary>
        public JsonObject Frame;
    }

    /// <summary>
    /// A connection that is made again whenever it ends. After a short interruption the session is resumed: requests and turns go
    /// on as if nothing had happened. When the session is lost, its agents are created again, with their dialogs. It starts to
    /// connect at once; await <see cref="ReadyAsync"/>. Callbacks and events are called in the synchronization context in which
    /// the client was created: in Unity create it on the main thread, and they run there.
    /// </summary>
    public sealed class TurngraphClient : IDisposable
    {
        private const int MinPauseMs = 250;
        private const int MaxPauseMs = 8000;
        private const int StableMs = 10000;
        private const int MaxPages = 256;
        private const int MaxFrameBytes = 1048576;
        private const int MaxPending = 1000;
        /// <summary>Requests wait this long for a connection, as long as a server keeps the session.</summary>
        private const int ResumeLimitMs = 60000;

        /// <summary>The last answer to a request is one of these, or has the name of the request.</summary>
        private static readonly HashSet<string> FinalMessages = new HashSet<string> { "turnComplete", "ack", "error" };
        private static readonly HashSet<string> OtherMessages = new HashSet<string>
        {
            "sessionReady", "resumeSession", "answerText", "answerField", "toolCallNotification", "nodeEvent", "modelProgress",
        };
        /// <summary>What may take long.</summary>
        private static readonly HashSet<string> SlowRequests = new HashSet<string>
        {
            "createAgent", "sendMessage", "loadModel", "downloadModel", "createStringStorage", "searchStorage",
        };
        /// <summary>Close codes after which the server has no session to resume, or would close again.</summary>
        private static readonly HashSet<int> LostCloseCodes = new HashSet<int> { 1001, 1009, 4429 };
        /// <summary>Close codes after which the next attempt would end likewise.</summary>
        private static readonly HashSet<int> FinalCloseCodes = new HashSet<int> { 1002, 4401, 4406, 4409 };

        private readonly string url;
        private readonly string token;
        private readonly JsonObject configuration;
        private readonly TurngraphLimits limits;
        private readonly Stopwatch sinceGood = Stopwatch.StartNew();
        private bool isPaused;
        private readonly List<double> frames = new List<double>();
        private readonly Stopwatch sinceFirstFrame = new Stopwatch();
        private Task report = Task.CompletedTask;
        private readonly SynchronizationContext context = SynchronizationContext.Current;
        private readonly CancellationTokenSource stop = new CancellationTokenSource();
        private readonly Random random = new Random();
        private readonly List<Agent> agents = new List<Agent>();
        private readonly object gate = new object();
        private readonly bool triesOnce;
        private volatile bool wasReady;
        private TaskCompletionSource<int> ready = NewReady();
        private Session session;
        private Link link;
        private Exception failure;
        // Why the last connection has ended, or could not be made.
        private string interruption = "";
        private int pauseMs = MinPauseMs;

        /// <summary>
        /// Called with the reason when the connection has ended, and when an attempt to connect has failed. Another attempt follows.
        /// </summary>
        public event Action<TurngraphException> Lost;
        /// <summary>Called when connecting again would be in vain, for example with a wrong token. No attempt follows.</summary>
        public event Action<TurngraphException> Stopped;
        /// <summary>Called when the session goes on, on a new connection. Nothing is lost.</summary>
        public event Action Resumed;
        /// <summary>Called when there is a new session, and its agents are those of the lost one, with their dialogs after the last turn.</summary>
        public event Action Restarted;

        /// <param name="configuration">The configureSession of each session, or null.</param>
        public TurngraphClient(string url, string token = null, JsonObject configuration = null, TurngraphLimits limits = null)
            : this(url, token, configuration, limits, false)
        {
        }

        private TurngraphClient(string url, string token, JsonObject configuration, TurngraphLimits limits, bool triesOnce)
        {
            this.triesOnce = triesOnce;
            this.limits = limits ?? new TurngraphLimits();
            this.url = url;
            this.token = token;
            this.configuration = configuration;
            _ = Task.Run(KeepConnectedAsync);
            _ = Task.Run(WatchAsync);
        }

        /// <summary>
        /// Connects: the client is ready. Unlike the constructor, which goes on trying, it fails with the first attempt.
        /// </summary>
        public static async Task<TurngraphClient> ConnectAsync(string url, string token = null, JsonObject configuration = null,
            TurngraphLimits limits = null)
        {
            var client = new TurngraphClient(url, token, configuration, limits, true);
            await client.ReadyAsync();
            return client;
        }

        /// <summary>Id of the session, for logs; null before the first.</summary>
        public string SessionId { get; private set; }

        /// <summary>
        /// Ends when requests are accepted: the client is connected and its agents are restored. Fails when connecting again
        /// would be in vain, for example with a wrong token.
        /// </summary>
        public Task ReadyAsync()
        {
            lock (gate) return ready.Task;
        }

        /// <param name="createAgent">
        /// The fields of createAgent, such as graphName, or graph with a graph; history is what ExportDialogAsync returned.
        /// </param>
        /// <param name="onProgress">Called while a model is downloaded or loaded.</param>
        public async Task<Agent> CreateAgentAsync(JsonObject createAgent, Action<ModelProgress> onProgress = null)
        {
            var agent = new Agent(this, createAgent);
            if (agent.HistoryJson == "") throw TurngraphException.Malformed("history is empty: leave it out, or give \"[]\"");
            await Send(null, "createAgent", agent.Restored(), OnProgress(onProgress), agent);
            return agent;
        }

        /// <summary>The models of the catalogue, with the fields of ModelInfo.</summary>
        public async Task<List<JsonObject>> ListModelsAsync()
        {
            var models = new List<JsonObject>();
            var pages = new HashSet<string>();
            var page = "";
            while (pages.Count < MaxPages)
            {
                var answer = await RequestAsync("listModels", new JsonObject { { "pageToken", page } });
                models.AddRange(answer.List("models").OfType<JsonObject>());
                page = answer.Text("nextPageToken");
                if (page == "") return models;
                if (!pages.Add(page)) throw TurngraphException.Malformed("the server's list of models has the same page twice");
            }
            throw new TurngraphException(2005, "LIMIT_EXCEEDED",
                "the server's list of models has more than " + MaxPages + " pages; the server does not end it");
        }

        /// <summary>
        /// Which models fit the computer, best first: SuggestModelsResponse, with "models" and "leftOut". The wish has fields of
        /// SuggestModelsRequest, such as "maxBytes".
        /// </summary>
        public Task<JsonObject> SuggestModelsAsync(JsonObject wish = null)
        {
            return RequestAsync("suggestModels", wish ?? new JsonObject());
        }

        /// <summary>Downloads a model of the catalogue. The result is the size of its files in bytes.</summary>
        public async Task<double> DownloadModelAsync(string modelName, Action<ModelProgress> onProgress = null)
        {
            var body = new JsonObject { { "modelName", modelName } };
            return (await RequestAsync("downloadModel", body, OnProgress(onProgress))).Number("sizeBytes");
        }

        /// <summary>Cancels a download; its task then fails with 6011. The next download continues it.</summary>
        public Task CancelDownloadAsync(string modelName)
        {
            return RequestAsync("cancelDownload", new JsonObject { { "modelName", modelName } });
        }

        /// <summary>
        /// Tells how many milliseconds a frame took and may take: call it in each Update. Once a second the server gets the 95th
        /// percentile, and takes less of the machine while that is late.
        /// </summary>
        public void ReportFrame(double ms, double targetMs)
        {
            if (frames.Count == 0) sinceFirstFrame.Restart();
            frames.Add(ms);
            if (sinceFirstFrame.ElapsedMilliseconds < 1000) return;
            frames.Sort();
            var body = new JsonObject { { "ms", frames[(int)((frames.Count - 1) * 0.95)] }, { "targetMs", targetMs } };
            frames.Clear();
            // Without a connection it would wait, and be old. A report that fails does not matter.
            if (report.IsCompleted) report = RequestAsync("reportFrame", body).ContinueWith(ended => ended.Exception);
        }

        /// <summary>
        /// Sends any request, such as loadModel. While a dropped connection may be resumed it waits; when the session is lost it
        /// fails with 1002. onFrame gets each frame of the answer, the last one included.
        /// </summary>
        public Task<JsonObject> RequestAsync(string message, JsonObject body, Action<string, JsonObject> onFrame = null)
        {
            return Send(null, message, body, onFrame, null);
        }

        /// <summary>Destroys the agents and closes the connection. Requests that are still pending fail with 1002.</summary>
        public async Task CloseAsync()
        {
            var last = Stop(TurngraphException.Dropped((link == null ? interruption : "") + "closed by the client"), true);
            if (last == null) return;
            // The server answers with its own close.
            var closed = Task.WhenAll(last.CloseOutputAsync(), last.Ended);
            await Task.WhenAny(closed, Task.Delay(2000)).ConfigureAwait(false);
            last.Abort();
        }

        /// <summary>As <see cref="CloseAsync"/>, without waiting.</summary>
        public void Dispose()
        {
            _ = CloseAsync();
        }

        internal Task<JsonObject> Send(Session owner, string message, JsonObject body, Action<string, JsonObject> onFrame,
            Agent created, Agent agent = null)
        {
            lock (gate)
            {
                var current = session;
                // In a new session an old id may be that of another agent, so only its restoration may send before it is ready.
                if (current == null || (owner == null ? !current.IsRestored : owner != current))
                {
                    return Task.FromException<JsonObject>(
                        failure ?? TurngraphException.Dropped("not connected; await ReadyAsync"));
                }
                if (current.Pending.Count >= MaxPending)
                {
                    return Task.FromException<JsonObject>(new TurngraphException(2005, "LIMIT_EXCEEDED",
                        MaxPending + " requests wait for an answer; wait for some of them"));
                }
                if (agent != null)
                {
                    if (agent.Id == 0) return Task.FromException<JsonObject>(Agent.Destroyed());
                    body["agentId"] = agent.Id;
                }
                var request = new Pending
                {
                    Id = current.LastId + 1, Name = message, OnFrame = onFrame, Created = created,
                    IsSlow = SlowRequests.Contains(message), Body = body,
                };
                var frame = new JsonObject { { "requestId", request.Id }, { message, body } };
                request.Bytes = Encoding.UTF8.GetBytes(frame.ToString());
                if (request.Bytes.Length > MaxFrameBytes)
                {
                    return Task.FromException<JsonObject>(new TurngraphException(5003, "FRAME_TOO_LARGE",
                        message + " has " + request.Bytes.Length + " bytes, most of them in " + LongestField(body) +
                        ", and a frame may have " + MaxFrameBytes + "; nothing was sent: send less at a time"));
                }
                current.LastId += 1;
                current.LastNumber += 1;
                request.Number = current.LastNumber;
                current.Pending.Add(request);
                if (link != null) link.Send(request.Bytes);
                return request.Final.Task;
            }
        }

        private static string LongestField(JsonObject body)
        {
            return body.OrderByDescending(each => new JsonObject { { "", each.Value } }.ToString().Length).First().Key;
        }

        internal void Forget(Agent agent)
        {
            lock (gate)
            {
                agents.Remove(agent);
                agent.Id = 0;
            }
        }

        /// <summary>Fails requests that have waited for too long.</summary>
        private async Task WatchAsync()
        {
            var periodMs = Math.Max(10, Math.Min(1000, Math.Min(limits.RequestMs, limits.IdleMs) / 4));
            while (!stop.IsCancellationRequested)
            {
                await Task.Delay(periodMs).ConfigureAwait(false);
                lock (gate)
                {
                    if (session == null) continue;
                    foreach (var request in session.Pending.Where(each => !each.IsGivenUp).ToList())
                    {
                        if (request.IsSlow && isPaused) request.SinceNew.Restart();
                        var limitMs = request.IsSlow ? limits.IdleMs : limits.RequestMs;
                        if (request.SinceNew.ElapsedMilliseconds < limitMs) continue;
                        GiveUp(request, new TurngraphException(1003, "TIMEOUT", request.Name + (request.IsSlow
                            ? " had nothing new for " + limitMs + " ms; if it may take longer, raise IdleMs"
                            : " had no answer within " + limitMs + " ms; if it may take longer, raise RequestMs")));
                    }
                }
            }
        }

        /// <summary>
        /// Fails a request, and tells the server to stop. It stays pending: its frame may have to be sent again, since the server
        /// counts them.
        /// </summary>
        private void GiveUp(Pending request, Exception why)
        {
            request.IsGivenUp = true;
            Dispatch(() => request.Final.TrySetException(why));
            if (request.Name == "sendMessage")
            {
                Send(null, "cancelTurn", new JsonObject { { "agentId", request.Body["agentId"] } }, null, null);
            }
            if (request.Name == "downloadModel") CancelDownloadAsync(request.Body.Text("modelName"));
        }

        private static Action<string, JsonObject> OnProgress(Action<ModelProgress> onProgress)
        {
            if (onProgress == null) return null;
            return (message, frame) =>
            {
                if (message != "modelProgress") return;
                onProgress(new ModelProgress
                {
                    ModelName = frame.Text("modelName"),
                    Phase = frame.Text("phase"),
                    Fraction = frame.Number("fraction"),
                    BytesDone = frame.Number("bytesDone"),
                    BytesTotal = frame.Number("bytesTotal"),
                });
            };
        }

        private static TaskCompletionSource<int> NewReady()
        {
            return new TaskCompletionSource<int>(TaskCreationOptions.RunContinuationsAsynchronously);
        }

        /// <summary>Calls what belongs to the program, in the order in which it happened.</summary>
        private void Dispatch(Action action)
        {
            if (context != null) context.Post(_ => action(), null);
            else action();
        }

        private async Task KeepConnectedAsync()
        {
            var droppedAt = Stopwatch.StartNew();
            while (true)
            {
                var next = new Link();
                TurngraphException why;
                try
                {
                    await next.OpenAsync(Address(), token, limits, stop.Token).ConfigureAwait(false);
                    await ReceiveAsync(next).ConfigureAwait(false);
                    why = next.LastError ?? TurngraphException.Dropped(
                        "closed by the server: " + next.CloseCode + " " + next.CloseReason);
                }
                catch (TurngraphException error)
                {
                    why = error;
                }
                catch (Exception error)
                {
                    // The server would break the protocol again.
                    next.IsBroken |= error is InvalidDataException;
                    why = next.LastError ?? TurngraphException.Dropped(next.IsLate
                        ? "the server did not answer within " + limits.ConnectMs + " ms; if it may take longer, raise ConnectMs"
                        : error.Message);
                }
                next.Abort();
                if (stop.IsCancellationRequested) return;
                int delayMs;
                bool wasAttached;
                lock (gate)
                {
                    wasAttached = link == next;
                    interruption = why.Sentence + "; ";
                    if (wasAttached)
                    {
                        link = null;
                        droppedAt.Restart();
                    }
                    if (next.SinceAttached.ElapsedMilliseconds > StableMs) IsGood();
                    delayMs = pauseMs + random.Next(pauseMs / 2);
                    pauseMs = Math.Min(2 * pauseMs, MaxPauseMs);
                }
                if (sinceGood.ElapsedMilliseconds + delayMs > limits.ReconnectMs)
                {
                    why = new TurngraphException(1001, "CONNECTION_FAILED", why.Sentence + "; no connection has lasted for " +
                        limits.ReconnectMs + " ms; to try for longer, raise ReconnectMs");
                    next.IsFinal = true;
                }
                if (next.IsFinal || (triesOnce && !wasReady))
                {
                    Stop(why, false);
                    return;
                }
                var isLost = next.IsBroken || next.CloseCode == 1001 || (wasAttached && LostCloseCodes.Contains(next.CloseCode));
                if (isLost || droppedAt.ElapsedMilliseconds + delayMs > ResumeLimitMs) LoseSession(why);
                Dispatch(() => Lost?.Invoke(why));
                try
                {
                    await Task.Delay(delayMs, stop.Token).ConfigureAwait(false);
                }
                catch (OperationCanceledException)
                {
                    return;
                }
            }
        }

        /// <summary>A connection has lasted, or has brought something new.</summary>
        private void IsGood()
        {
            pauseMs = MinPauseMs;
            sinceGood.Restart();
        }

        /// <summary>The URL, with the session to resume: a load balancer finds its server by it.</summary>
        private string Address()
        {
            lock (gate)
            {
                if (session == null) return url;
                return url + (url.Contains("?") ? "&" : "?") + "session=" + Uri.EscapeDataString(session.Id);
            }
        }

        /// <summary>Reads one connection to its end.</summary>
        private async Task ReceiveAsync(Link from)
        {
            string text;
            while ((text = await from.ReceiveAsync().ConfigureAwait(false)) != null)
            {
                var frame = ReadFrame(text);
                var id = frame.UInt("requestId");
                Pending request;
                lock (gate) request = session == null ? null : session.Pending.Find(pending => pending.Id == id);
                // A newer server may send messages and fields that are unknown here.
                var message = frame.Keys.FirstOrDefault(name => frame[name] is JsonObject &&
                    (FinalMessages.Contains(name) || OtherMessages.Contains(name) || (request != null && name == request.Name)));
                var body = message == null ? new JsonObject() : frame.Object(message);
                if (message == "error" && id == 0) from.LastError = TurngraphException.From(body);
                if (message == "sessionReady") Greet(from, body);
                else if (id != 0 && id == from.ResumeId) Resume(from, frame.UInt("seq"), message, body);
                else Take(from, request, frame.UInt("seq"), message, body, text.Length);
            }
        }

        private static JsonObject ReadFrame(string text)
        {
            try
            {
                return JsonObject.Parse(text);
            }
            catch (FormatException error)
            {
                throw new InvalidDataException("the server sent a frame that cannot be read: " + error.Message);
            }
        }

        /// <summary>The first frame of a connection: continues the session, or begins the new one.</summary>
        private void Greet(Link from, JsonObject sessionReady)
        {
            lock (gate)
            {
                from.SessionReady = sessionReady;
                if (session != null)
                {
                    // It has no number of its own, so it is not among the pending requests.
                    session.LastId += 1;
                    from.ResumeId = session.LastId;
                    var body = new JsonObject
                    {
                        { "sessionId", session.Id }, { "resumeToken", session.Token }, { "lastSeq", session.LastSeq },
                    };
                    var frame = new JsonObject { { "requestId", from.ResumeId }, { "resumeSession", body } };
                    from.Send(Encoding.UTF8.GetBytes(frame.ToString()));
                    return;
                }
            }
            Begin(from, 0);
        }

        private void Resume(Link from, uint seq, string message, JsonObject body)
        {
            if (message == "resumeSession")
            {
                from.EndHandshake();
                lock (gate)
                {
                    if (session == null) return;
                    link = from;
                    var received = body.UInt("requestsReceived");
                    foreach (var request in session.Pending.Where(request => request.Number > received)) from.Send(request.Bytes);
                }
                Dispatch(() => Resumed?.Invoke());
            }
            else if (message == "error")
            {
                from.LastError = TurngraphException.From(body);
                LoseSession(TurngraphException.Dropped("the session cannot be resumed: " + from.LastError.Sentence));
                // After 2001 and 2004 the server closes the connection.
                if (from.LastError.Code == 2003)
                {
                    from.LastError = null;
                    // The refusal is the first frame of the new session.
                    Begin(from, seq);
                }
            }
        }

        private void Begin(Link from, uint lastSeq)
        {
            from.EndHandshake();
            var next = new Session
            {
                Id = from.SessionReady.Text("sessionId"), Token = from.SessionReady.Text("resumeToken"), LastSeq = lastSeq,
            };
            lock (gate)
            {
                if (stop.IsCancellationRequested) return;
                session = next;
                link = from;
                next.IsAnother = SessionId != null;
                SessionId = next.Id;
            }
            _ = RestoreAsync(next);
        }

        private async Task RestoreAsync(Session next)
        {
            try
            {
                if (configuration != null)
                {
                    await Send(next, "configureSession", configuration, null, null).ConfigureAwait(false);
                }
                Agent[] all;
                lock (gate) all = agents.ToArray();
                foreach (var agent in all)
                {
                    await Send(next, "createAgent", agent.Restored(), null, agent).ConfigureAwait(false);
                }
                lock (gate)
                {
                    if (session != next) return;
                    next.IsRestored = true;
                    wasReady = true;
                    ready.TrySetResult(0);
                }
                if (next.IsAnother) Dispatch(() => Restarted?.Invoke());
            }
            catch (TurngraphException error)
            {
                // 2001: the server shuts down, and closes soon. Any other refusal would be the same in each new session.
                bool isCurrent;
                lock (gate) isCurrent = session == next;
                if (!isCurrent || error.Code == 2001) return;
                var last = Stop(error, false);
                if (last != null) last.Abort();
            }
        }

        private void Take(Link from, Pending request, uint seq, string message, JsonObject body, int size)
        {
            bool isFinal;
            lock (gate)
            {
                if (link != from || session == null) return;
                if (seq != 0)
                {
                    if (seq <= session.LastSeq) return;
                    if (seq > session.LastSeq + 1)
                    {
                        from.IsBroken = true;
                        throw new InvalidDataException("the server has left out frames: " + seq + " after " + session.LastSeq);
                    }
                    session.LastSeq = seq;
                    if (session.IsRestored && request != null) IsGood();
                }
                if (request == null || message == null) return;
                request.Count(message, body, size);
                isFinal = FinalMessages.Contains(message) ||
                    (message == request.Name && body.UInt("part") == body.UInt("of"));
                if (isFinal) session.Pending.Remove(request);
                if (message == "createAgent" && request.Created != null)
                {
                    request.Created.Id = body.UInt("agentId");
                    request.Created.Warnings = body.Texts("warnings");
                    if (!agents.Contains(request.Created)) agents.Add(request.Created);
                }
                if (message == "error" && body.Int("code") == 2001) NotReady();
                if (message == "ack" && request.Name == "setPace") isPaused = request.Body.Flag("paused");
                if (request.IsGivenUp) return;
                if (request.Size > limits.AnswerBytes)
                {
                    GiveUp(request, new TurngraphException(2005, "LIMIT_EXCEEDED", "the answer to " + request.Name +
                        " has more than " + limits.AnswerBytes + " bytes; ask for less, or raise AnswerBytes"));
                    return;
                }
            }
            Dispatch(() =>
            {
                var thrown = request.Take(message, body, isFinal);
                if (thrown == null) return;
                lock (gate) GiveUp(request, thrown);
            });
        }

        private void LoseSession(TurngraphException why)
        {
            List<Pending> left;
            lock (gate)
            {
                if (session == null) return;
                left = session.Pending;
                session = null;
                isPaused = false;
                link = null;
                NotReady();
            }
            var dropped = why.Code == 1002 ? why : TurngraphException.Dropped(why.Sentence);
            // Who is told of a failed request may ask at once whether the client is ready.
            Dispatch(() => left.ForEach(request => request.Final.TrySetException(dropped)));
        }

        private void NotReady()
        {
            if (ready.Task.IsCompleted && failure == null) ready = NewReady();
        }

        /// <summary>Ends for good. Returns the open connection, if there is one.</summary>
        private Link Stop(TurngraphException why, bool isWanted)
        {
            Link last;
            lock (gate)
            {
                if (failure != null) return null;
                last = link;
                if (last != null && isWanted)
                {
                    foreach (var agent in agents)
                    {
                        session.LastId += 1;
                        var body = new JsonObject { { "agentId", agent.Id } };
                        var frame = new JsonObject { { "requestId", session.LastId }, { "destroyAgent", body } };
                        last.Send(Encoding.UTF8.GetBytes(frame.ToString()));
                    }
                }
                NotReady();
                failure = why;
            }
            stop.Cancel();
            LoseSession(why);
            Dispatch(() =>
            {
                ready.TrySetException(why);
                if (!isWanted) Stopped?.Invoke(why);
            });
            return last;
        }

        /// <summary>What a session needs to be resumed.</summary>
        internal sealed class Session
        {
            public string Id;
            public string Token;
            public uint LastId;
            /// <summary>How many frames were made; the server counts those that it receives.</summary>
            public uint LastNumber;
            /// <summary>The highest seq that was received.</summary>
            public uint LastSeq;
            /// <summary>It follows a session that was lost.</summary>
            public bool IsAnother;
            /// <summary>Its agents are restored.</summary>
            public bool IsRestored;
            /// <summary>In the order of their numbers.</summary>
            public readonly List<Pending> Pending = new List<Pending>();
        }

        internal sealed class Pending
        {
            public uint Id;
            public uint Number;
            public string Name;
            public byte[] Bytes;
            public Agent Created;
            public JsonObject Body;
            public bool IsSlow;
            public bool IsGivenUp;
            /// <summary>Bytes of its answer.</summary>
            public long Size;
            public readonly Stopwatch SinceNew = Stopwatch.StartNew();
            private string progress = "";
            public Action<string, JsonObject> OnFrame;
            public readonly TaskCompletionSource<JsonObject> Final =
                new TaskCompletionSource<JsonObject>(TaskCreationOptions.RunContinuationsAsynchronously);

            public void Count(string message, JsonObject body, int size)
            {
                Size += size;
                var last = progress;
                progress = message == "modelProgress" ? body.ToString() : "";
                if (IsSlow && (progress == "" || progress != last)) SinceNew.Restart();
            }

            /// <summary>Returns what the program's own code has thrown.</summary>
            public Exception Take(string message, JsonObject body, bool isFinal)
            {
                try
                {
                    if (message == "error") Final.TrySetException(TurngraphException.From(body));
                    if (message != "error" && OnFrame != null) OnFrame(message, body);
                    if (isFinal) Final.TrySetResult(body);
                    return null;
                }
                catch (Exception error)
                {
                    return error;
                }
            }
        }

        /// <summary>One WebSocket, until it ends.</summary>
        private sealed class Link
        {
            private readonly ClientWebSocket socket = new ClientWebSocket();
            private readonly byte[] buffer = new byte[65536];
            private readonly object sending = new object();
            private Task lastSend = Task.FromResult(0);
            private readonly TaskCompletionSource<int> ended =
                new TaskCompletionSource<int>(TaskCreationOptions.RunContinuationsAsynchronously);
            private Timer handshake;
            private TurngraphLimits limits;

            public readonly Stopwatch SinceAttached = new Stopwatch();
            /// <summary>The server has not answered in time.</summary>
            public bool IsLate;
            public JsonObject SessionReady;
            public uint ResumeId;
            public TurngraphException LastError;
            public int CloseCode;
            public string CloseReason;
            public bool IsFinal;
            /// <summary>The server has left out frames, so the session cannot be trusted.</summary>
            public bool IsBroken;

            public Task Ended
            {
                get { return ended.Task; }
            }

            public async Task OpenAsync(string url, string token, TurngraphLimits limits, CancellationToken stop)
            {
                this.limits = limits;
                // Aborting ends whatever the socket is waiting for.
                handshake = new Timer(_ =>
                {
                    IsLate = true;
                    Abort();
                }, null, limits.ConnectMs, Timeout.Infinite);
                socket.Options.AddSubProtocol("turngraph.v1.json");
                if (token != null) socket.Options.SetRequestHeader("Authorization", "Bearer " + token);
                try
                {
                    var connecting = socket.ConnectAsync(new Uri(url), stop);
                    // It may never end, although the socket is aborted.
                    if (await Task.WhenAny(connecting, Ended).ConfigureAwait(false) != connecting) throw new TimeoutException();
                    await connecting.ConfigureAwait(false);
                }
                catch (Exception) when (IsLate)
                {
                    throw new TurngraphException(1001, "CONNECTION_FAILED", "cannot connect to " + url.Split('?')[0] +
                        ": no answer within " + limits.ConnectMs + " ms; if it may take longer, raise ConnectMs");
                }
                catch (Exception error)
                {
                    var status = await StatusOfAsync(error, url, token).ConfigureAwait(false);
                    IsFinal = status == 401 || status == 403 || status == 404;
                    throw new TurngraphException(1001, "CONNECTION_FAILED",
                        "cannot connect to " + url.Split('?')[0] + ": " + (status != 0 ? "HTTP " + status : error.Message));
                }
            }

            /// <summary>
            /// The HTTP status of a refused handshake; 0 where it is unknown. .NET has it in its message; Mono, and so Unity, has
            /// not, but a request by HTTP has the same checks.
            /// </summary>
            private static async Task<int> StatusOfAsync(Exception error, string url, string token)
            {
                var named = Regex.Match(error.Message, "'([45][0-9][0-9])'");
                if (named.Success) return int.Parse(named.Groups[1].Value, CultureInfo.InvariantCulture);
                // A connection that was not made has an inner exception.
                if (!(error is WebSocketException) || error.InnerException != null) return 0;
                var request = WebRequest.CreateHttp(new Uri(new Uri(Regex.Replace(url, "^ws", "http")), "/graphs"));
                if (token != null) request.Headers["Authorization"] = "Bearer " + token;
                try
                {
                    var answer = request.GetResponseAsync();
                    if (await Task.WhenAny(answer, Task.Delay(2000)).ConfigureAwait(false) != answer) request.Abort();
                    using (await answer.ConfigureAwait(false)) return 0;
                }
                catch (WebException refused)
                {
                    var response = refused.Response as HttpWebResponse;
                    var status = response == null ? 0 : (int)response.StatusCode;
                    // Any other status is about this path.
                    return status == 401 || status == 403 ? status : 0;
                }
            }

            public void EndHandshake()
            {
                handshake.Dispose();
                SinceAttached.Start();
            }

            /// <summary>ClientWebSocket takes one send at a time.</summary>
            public void Send(byte[] bytes)
            {
                lock (sending) lastSend = SendAfterAsync(lastSend, bytes);
            }

            private async Task SendAfterAsync(Task previous, byte[] bytes)
            {
                await previous.ConfigureAwait(false);
                try
                {
                    await socket.SendAsync(new ArraySegment<byte>(bytes), WebSocketMessageType.Text, true, CancellationToken.None)
                        .ConfigureAwait(false);
                }
                catch (Exception)
                {
                    // The frame is sent again when the session is resumed.
                    Abort();
                }
            }

            /// <summary>The text of one frame; null when the server has closed.</summary>
            public async Task<string> ReceiveAsync()
            {
                using (var text = new MemoryStream())
                {
                    while (true)
                    {
                        var part = await socket.ReceiveAsync(new ArraySegment<byte>(buffer), CancellationToken.None)
                            .ConfigureAwait(false);
                        if (part.MessageType == WebSocketMessageType.Close)
                        {
                            CloseCode = (int)(part.CloseStatus ?? WebSocketCloseStatus.Empty);
                            CloseReason = part.CloseStatusDescription;
                            IsFinal = FinalCloseCodes.Contains(CloseCode);
                            return null;
                        }
                        text.Write(buffer, 0, part.Count);
                        if (text.Length > limits.FrameBytes)
                        {
                            throw new InvalidDataException("the server sent a frame of more than " + limits.FrameBytes +
                                " bytes; if it may be larger, raise FrameBytes");
                        }
                        if (part.EndOfMessage) return Encoding.UTF8.GetString(text.ToArray());
                    }
                }
            }

            public async Task CloseOutputAsync()
            {
                Task sent;
                lock (sending) sent = lastSend;
                await sent.ConfigureAwait(false);
                try
                {
                    await socket.CloseOutputAsync(WebSocketCloseStatus.NormalClosure, "", CancellationToken.None)
                        .ConfigureAwait(false);
                }
                catch (Exception)
                {
                    // It has ended already.
                }
            }

            public void Abort()
            {
                if (handshake != null) handshake.Dispose();
                socket.Abort();
                socket.Dispose();
                ended.TrySetResult(0);
            }
        }
    }

    /// <summary>One conversation. It outlives connections, and servers.</summary>
    public sealed class Agent
    {
        /// <summary>The limit of a server for the result of a call.</summary>
        private const int MaxResultBytes = 256 * 1024;

        /// <summary>Issues about the shape of arguments: a tool is not run with such.</summary>
        private static readonly HashSet<string> BlockingIssues = new HashSet<string>
        {
            "missing_param", "wrong_type", "not_in_enum",
        };

        private readonly TurngraphClient client;
        private readonly JsonObject createAgent;
        internal uint Id;

        internal Agent(TurngraphClient client, JsonObject createAgent)
        {
            this.client = client;
            this.createAgent = new JsonObject(createAgent);
            foreach (var name in new[] { "history", "graph" })
            {
                object value;
                if (!createAgent.TryGetValue(name, out value) || (name == "graph" && !(value is string))) continue;
                this.createAgent.Remove(name);
                if (value != null) this.createAgent[name + "Json"] = value as string ?? JsonObject.ToJson(value);
            }
            if (this.createAgent.ContainsKey("historyJson")) HistoryJson = this.createAgent.Text("historyJson");
        }

        /// <summary>Warnings of the server about the graph.</summary>
        public List<string> Warnings { get; internal set; }

        /// <summary>The dialog after the last turn, as JSON text for the saved game; at first that of createAgent, or null.</summary>
        public string HistoryJson { get; private set; }

        /// <summary>
        /// Sends one message of the player. The result comes when the turn has ended and its dialog is in
        /// <see cref="HistoryJson"/>. Throws when the turn fails, not when it is cancelled, and with 1002 when the session is lost;
        /// the turn is lost with it.
        /// </summary>
        /// <param name="onText">Called with each piece of the answer.</param>
        /// <param name="onCall">Called with each detected call.</param>
        /// <param name="variables">The template variables of this turn.</param>
        /// <param name="tools">Run the calls; their results go back to a turn that waits for them.</param>
        /// <param name="onField">Called with the name and the value of each field of the answer.</param>
        public async Task<Turn> SendAsync(string text, Action<string> onText = null, Action<ToolCall> onCall = null,
            JsonObject variables = null, ToolTable tools = null, Action<string, object> onField = null)
        {
            var body = new JsonObject { { "text", text } };
            if (variables != null) body["variables"] = variables;
            var answer = new StringBuilder();
            var turn = new Turn();
            var complete = await RequestAsync("sendMessage", body, (message, frame) =>
            {
                if (message == "answerText" && frame.Text("text") != "")
                {
                    // A line of appendText is shown, but is no part of the answer.
                    if (frame.Text("source") != "client") answer.Append(frame.Text("text"));
                    if (onText != null) onText(frame.Text("text"));
                }
                if (message == "answerField")
                {
                    var value = JsonObject.Parse("{\"value\":" + frame.Text("valueJson") + "}")["value"];
                    turn.Fields[frame.Text("name")] = value;
                    if (onField != null) onField(frame.Text("name"), value);
                }
                if (message != "toolCallNotification") return;
                var call = ToCall(frame);
                turn.Calls.Add(call);
                if (onCall != null) onCall(call);
                if (tools != null) _ = RunAsync(call, tools);
            });
            try
            {
                await ExportDialogAsync();
            }
            catch (TurngraphException)
            {
                // The turn is complete, but the session is lost: the saved dialog is without this turn.
            }
            turn.Text = answer.ToString();
            turn.Status = complete.Text("status") == "" ? "SUCCESS" : complete.Text("status");
            turn.Error = complete.Object("error").Count > 0 ? TurngraphException.From(complete.Object("error")) : null;
            turn.Warnings = complete.Texts("warnings");
            turn.Frame = complete;
            if (turn.Status != "ERROR") return turn;
            var failure = turn.Error ?? TurngraphException.From(new JsonObject());
            failure.Turn = turn;
            throw failure;
        }

        private async Task RunAsync(ToolCall call, ToolTable tools)
        {
            var result = await ResultOfAsync(call, tools);
            if (!call.AwaitsResult) return;
            result["callId"] = call.CallId;
            try
            {
                await SubmitToolResultsAsync(new[] { result });
            }
            catch (TurngraphException)
            {
                // It is late, or the turn has ended: nobody waits for it.
            }
        }

        private static async Task<JsonObject> ResultOfAsync(ToolCall call, ToolTable tools)
        {
            try
            {
                Func<ToolCall, Task<object>> run;
                if (!tools.TryGetValue(call.ToolName, out run)) throw new Exception("no tool \"" + call.ToolName + "\" is registered");
                // The server has not checked such a call.
                if (!call.IsKnown) throw new Exception(call.Frame.Text("nodeName") + " offers no tool \"" + call.ToolName + "\"");
                var wrong = call.Frame.List("issues").OfType<JsonObject>().Where(issue => BlockingIssues.Contains(issue.Text("code")));
                var why = string.Join("; ", wrong.Select(issue => issue.Text("message")));
                if (why != "") throw new Exception("invalid arguments: " + why);
                // A lambda that returns null is taken for one that returns a task.
                var running = run(call);
                var value = running == null ? null : await running;
                return ToResult("result", true, value == null ? "ok" : value as string ?? JsonObject.ToJson(value));
            }
            catch (Exception error)
            {
                return ToResult("error", false, error.Message == "" ? "the tool failed" : error.Message);
            }
        }

        private static JsonObject ToResult(string what, bool ok, string content)
        {
            var bytes = Encoding.UTF8.GetByteCount(content);
            if (bytes <= MaxResultBytes) return new JsonObject { { "ok", ok }, { "content", content } };
            var why = "the " + what + " has " + bytes + " bytes, and " + MaxResultBytes + " are allowed";
            return new JsonObject { { "ok", false }, { "content", why } };
        }

        /// <summary>Gives a waiting turn the result of a call: text, or a JSON document as text.</summary>
        public Task SubmitResultAsync(string callId, string content, bool ok = true)
        {
            var result = new JsonObject { { "callId", callId }, { "content", content }, { "ok", ok } };
            return SubmitToolResultsAsync(new List<JsonObject> { result });
        }

        /// <summary>Gives a waiting turn several results, each with callId, content and ok, which is true by default.</summary>
        public Task SubmitToolResultsAsync(IEnumerable<JsonObject> results)
        {
            var list = results.Select(result => new JsonObject(result)).ToList<object>();
            foreach (JsonObject result in list) if (!result.ContainsKey("ok")) result["ok"] = true;
            return RequestAsync("submitToolResults", new JsonObject { { "results", list } });
        }

        /// <summary>An older name of <see cref="SubmitToolResultsAsync"/>.</summary>
        public Task SubmitResultsAsync(IEnumerable<JsonObject> results)
        {
            return SubmitToolResultsAsync(results);
        }

        /// <summary>Changes live parameters of a node between turns: those that are given; null restores the default.</summary>
        public Task ChangeParamsAsync(string nodeName, JsonObject parameters)
        {
            return RequestAsync("changeParams",
                new JsonObject { { "nodeName", nodeName }, { "paramsJson", parameters.ToString() } });
        }

        /// <summary>Cancels the running turn, if there is one; its SendAsync then ends with the status CANCELLED.</summary>
        public Task CancelAsync()
        {
            return RequestAsync("cancelTurn", new JsonObject());
        }

        /// <summary>Fetches the dialog into <see cref="HistoryJson"/>.</summary>
        public async Task<string> ExportDialogAsync()
        {
            var parts = new StringBuilder();
            await RequestAsync("exportDialog", new JsonObject(), (message, frame) =>
            {
                if (message == "exportDialog") parts.Append(frame.Text("historyJson"));
            });
            HistoryJson = parts.ToString();
            return HistoryJson;
        }

        /// <summary>An older name of <see cref="ExportDialogAsync"/>.</summary>
        public Task<string> ExportAsync()
        {
            return ExportDialogAsync();
        }

        /// <summary>Ends the conversation and frees its memory in the server.</summary>
        public async Task DestroyAsync()
        {
            await RequestAsync("destroyAgent", new JsonObject());
            client.Forget(this);
        }

        /// <summary>Sends any request of an agent, such as changeParams; its agentId is filled in.</summary>
        public Task<JsonObject> RequestAsync(string message, JsonObject body, Action<string, JsonObject> onFrame = null)
        {
            return client.Send(null, message, new JsonObject(body), onFrame, null, this);
        }

        /// <summary>The createAgent that restores it in a new session.</summary>
        internal JsonObject Restored()
        {
            var body = new JsonObject(createAgent);
            if (HistoryJson != null) body["historyJson"] = HistoryJson;
            return body;
        }

        internal static TurngraphException Destroyed()
        {
            return new TurngraphException(3002, "AGENT_ALREADY_DESTROYED", "this agent was destroyed; create another");
        }

        private static JsonObject ParseArguments(string json)
        {
            try
            {
                return JsonObject.Parse(json);
            }
            catch (FormatException error)
            {
                throw TurngraphException.Malformed("the server sent a call without JSON arguments: " + error.Message);
            }
        }

        private static ToolCall ToCall(JsonObject frame)
        {
            var typed = frame.Text("typedArgumentsJson");
            return new ToolCall
            {
                CallId = frame.Text("callId"),
                ToolName = frame.Text("toolName"),
                ArgumentsJson = typed,
                Arguments = typed == "" ? new JsonObject() : ParseArguments(typed),
                IsKnown = frame.Flag("known"),
                IsConsequential = frame.Flag("consequential"),
                AwaitsResult = frame.Flag("awaitsResult"),
                Confidence = frame.ContainsKey("confidence") ? frame.Number("confidence") : (double?)null,
                Frame = frame,
            };
        }
    }

    /// <summary>The server as a child process of the game. It ends with the game, however that ends.</summary>
    public sealed class TurngraphServer : IDisposable
    {
        private const int StartMs = 60000;
        private const int StopMs = 8000;

        private readonly Process process;
        private readonly StringBuilder errors = new StringBuilder();

        private TurngraphServer(Process process)
        {
            this.process = process;
        }

        /// <summary>The address for a TurngraphClient.</summary>
        public string Url { get; private set; }

        /// <summary>A secret of this start, without which no other program of the machine can connect.</summary>
        public string Token { get; private set; }

        public bool HasExited
        {
            get { return process.HasExited; }
        }

        /// <summary>Starts the server of a bundle, and waits until it listens.</summary>
        /// <param name="bundle">The folder that "turngraph bundle" has made, which has the file turngraph or turngraph.cmd.</param>
        /// <param name="arguments">Further options of "turngraph serve", such as "--graphs", folder.</param>
        public static async Task<TurngraphServer> StartAsync(string bundle, params string[] arguments)
        {
            var isWindows = Path.DirectorySeparatorChar == '\\';
            var program = Path.Combine(bundle, isWindows ? "turngraph.cmd" : "turngraph");
            if (!File.Exists(program))
            {
                throw new TurngraphException(1001, "CONNECTION_FAILED",
                    "the server did not start: there is no " + program + "; make its folder with \"turngraph bundle\"");
            }
            var all = new List<string>
            {
                "serve", "--port", "0", "--json", "--stdin", "--log-level", "warn",
                "--parent-pid", Process.GetCurrentProcess().Id.ToString(CultureInfo.InvariantCulture),
            };
            all.AddRange(arguments);
            var start = new ProcessStartInfo
            {
                FileName = program,
                Arguments = string.Join(" ", all.Select(Quoted)),
                UseShellExecute = false,
                CreateNoWindow = true,
                RedirectStandardInput = true,
                RedirectStandardOutput = true,
                RedirectStandardError = true,
            };
            var token = NewToken();
            start.EnvironmentVariables["TURNGRAPH_TOKEN"] = token;
            var server = new TurngraphServer(Process.Start(start)) { Token = token };
            server.process.ErrorDataReceived += (_, line) => server.KeepError(line.Data);
            server.process.BeginErrorReadLine();
            var reading = server.process.StandardOutput.ReadLineAsync();
            if (await Task.WhenAny(reading, Task.Delay(StartMs)).ConfigureAwait(false) != reading) server.process.Kill();
            var listening = await reading.ConfigureAwait(false);
            if (listening == null)
            {
                server.process.WaitForExit();
                lock (server.errors)
                {
                    throw new TurngraphException(1001, "CONNECTION_FAILED", "the server did not start: " + server.errors);
                }
            }
            server.Url = "ws://127.0.0.1:" + JsonObject.Parse(listening).Int("port");
            return server;
        }

        /// <summary>Stops the server, and waits until it has ended. Close its clients before.</summary>
        public async Task StopAsync()
        {
            Dispose();
            var exited = Task.Run(() => process.WaitForExit(StopMs));
            if (!await exited.ConfigureAwait(false)) process.Kill();
        }

        /// <summary>Stops the server without waiting for its end.</summary>
        public void Dispose()
        {
            try
            {
                process.StandardInput.Close();
            }
            catch (IOException)
            {
                // It has ended already.
            }
        }

        private void KeepError(string line)
        {
            if (line == null) return;
            lock (errors)
            {
                if (errors.Length > 4096) errors.Remove(0, errors.Length - 4096);
                errors.Append(line).Append('\n');
            }
        }

        private static string NewToken()
        {
            var bytes = new byte[16];
            using (var generator = RandomNumberGenerator.Create()) generator.GetBytes(bytes);
            return BitConverter.ToString(bytes).Replace("-", "");
        }

        /// <summary>An argument as .NET and Windows split it: backslashes are only special before a quote.</summary>
        private static string Quoted(string argument)
        {
            var inner = Regex.Replace(argument, @"(\\*)""", @"$1$1\""");
            return "\"" + Regex.Replace(inner, @"(\\+)\z", "$1$1") + "\"";
        }
    }

    /// <summary>
    /// A JSON object. Values are string, double, bool, null, JsonObject and List of object; to be written, numbers of other types
    /// and dictionaries do, too.
    /// </summary>
    public sealed class JsonObject : Dictionary<string, object>
    {
        public JsonObject()
        {
        }

        public JsonObject(IDictionary<string, object> other)
            : base(other)
        {
        }

        /// <summary>A string; an empty one where there is none.</summary>
        public string Text(string name)
        {
            object value;
            return (TryGetValue(name, out value) ? value as string : null) ?? "";
        }

        public double Number(string name)
        {
            object value;
            return TryGetValue(name, out value) && value is double ? (double)value : 0;
        }

        public int Int(string name)
        {
            return (int)Number(name);
        }

        public uint UInt(string name)
        {
            return (uint)Number(name);
        }

        public bool Flag(string name)
        {
            object value;
            return TryGetValue(name, out value) && value is bool && (bool)value;
        }

        /// <summary>An object; an empty one where there is none.</summary>
        public JsonObject Object(string name)
        {
            object value;
            return (TryGetValue(name, out value) ? value as JsonObject : null) ?? new JsonObject();
        }

        /// <summary>A list; an empty one where there is none.</summary>
        public List<object> List(string name)
        {
            object value;
            return (TryGetValue(name, out value) ? value as List<object> : null) ?? new List<object>();
        }

        /// <summary>The texts of a list.</summary>
        public List<string> Texts(string name)
        {
            return List(name).OfType<string>().ToList();
        }

        /// <summary>Reads a JSON object.</summary>
        /// <exception cref="FormatException">The text is no JSON object.</exception>
        public static JsonObject Parse(string text)
        {
            var reader = new JsonReader(text);
            var value = reader.ReadDocument() as JsonObject;
            if (value == null) throw new FormatException("no JSON object: " + text.Substring(0, Math.Min(100, text.Length)));
            return value;
        }

        public override string ToString()
        {
            return ToJson(this);
        }

        /// <summary>The JSON of any value that an object may hold.</summary>
        public static string ToJson(object value)
        {
            var text = new StringBuilder();
            Write(text, value);
            return text.ToString();
        }

        private static void Write(StringBuilder text, object value)
        {
            if (value == null) text.Append("null");
            else if (value is string) WriteString(text, (string)value);
            else if (value is bool) text.Append((bool)value ? "true" : "false");
            else if (value is double) text.Append(((double)value).ToString("R", CultureInfo.InvariantCulture));
            else if (value is IDictionary<string, object>)
            {
                var separator = "{";
                foreach (var member in (IDictionary<string, object>)value)
                {
                    text.Append(separator);
                    separator = ",";
                    WriteString(text, member.Key);
                    text.Append(':');
                    Write(text, member.Value);
                }
                text.Append(separator == "{" ? "{}" : "}");
            }
            else if (value is System.Collections.IEnumerable)
            {
                var separator = "[";
                foreach (var item in (System.Collections.IEnumerable)value)
                {
                    text.Append(separator);
                    separator = ",";
                    Write(text, item);
                }
                text.Append(separator == "[" ? "[]" : "]");
            }
            else text.Append(Convert.ToString(value, CultureInfo.InvariantCulture));
        }

        private static void WriteString(StringBuilder text, string value)
        {
            text.Append('"');
            for (var at = 0; at < value.Length; at++)
            {
                var character = value[at];
                if (character == '"' || character == '\\') text.Append('\\').Append(character);
                else if (character < ' ') text.Append("\\u").Append(((int)character).ToString("x4", CultureInfo.InvariantCulture));
                else if (!char.IsSurrogate(character)) text.Append(character);
                else if (char.IsSurrogatePair(value, at)) text.Append(character).Append(value[++at]);
                // The server refuses half a surrogate pair.
                else text.Append('\ufffd');
            }
            text.Append('"');
        }
    }

    /// <summary>Reads JSON text.</summary>
    internal sealed class JsonReader
    {
        private const int MaxDepth = 256;

        private readonly string text;
        private int at;
        private int depth;

        public JsonReader(string text)
        {
            this.text = text;
        }

        public object ReadDocument()
        {
            var value = Read();
            if (Peek() != '\0' || at < text.Length) throw Wrong();
            return value;
        }

        private FormatException Wrong()
        {
            return new FormatException("no JSON at character " + at);
        }

        private char Peek()
        {
            while (at < text.Length && " \t\r\n".IndexOf(text[at]) >= 0) at += 1;
            return at < text.Length ? text[at] : '\0';
        }

        private void Expect(char character)
        {
            if (Peek() != character) throw Wrong();
            at += 1;
        }

        private object Word(string word, object value)
        {
            if (string.CompareOrdinal(text, at, word, 0, word.Length) != 0) throw Wrong();
            at += word.Length;
            return value;
        }

        private object Read()
        {
            switch (Peek())
            {
                case '{': return ReadObject();
                case '[': return ReadList();
                case '"': return ReadString();
                case 't': return Word("true", true);
                case 'f': return Word("false", false);
                case 'n': return Word("null", null);
                default: return ReadNumber();
            }
        }

        private JsonObject ReadObject()
        {
            var members = new JsonObject();
            Enter('{');
            if (Peek() != '}')
            {
                do
                {
                    if (Peek() != '"') throw Wrong();
                    var name = ReadString();
                    Expect(':');
                    members[name] = Read();
                } while (IsNext(','));
            }
            Leave('}');
            return members;
        }

        private List<object> ReadList()
        {
            var items = new List<object>();
            Enter('[');
            if (Peek() != ']')
            {
                do items.Add(Read()); while (IsNext(','));
            }
            Leave(']');
            return items;
        }

        private void Enter(char character)
        {
            Expect(character);
            depth += 1;
            if (depth > MaxDepth) throw Wrong();
        }

        private void Leave(char character)
        {
            Expect(character);
            depth -= 1;
        }

        private bool IsNext(char character)
        {
            if (Peek() != character) return false;
            at += 1;
            return true;
        }

        private string ReadString()
        {
            var value = new StringBuilder();
            at += 1;
            while (true)
            {
                if (at >= text.Length) throw Wrong();
                var character = text[at++];
                if (character == '"') return value.ToString();
                value.Append(character == '\\' ? ReadEscape() : character);
            }
        }

        private char ReadEscape()
        {
            if (at >= text.Length) throw Wrong();
            var character = text[at++];
            switch (character)
            {
                case 'b': return '\b';
                case 'f': return '\f';
                case 'n': return '\n';
                case 'r': return '\r';
                case 't': return '\t';
                case 'u':
                    int code;
                    if (at + 4 > text.Length || !int.TryParse(text.Substring(at, 4), NumberStyles.AllowHexSpecifier,
                        CultureInfo.InvariantCulture, out code)) throw Wrong();
                    at += 4;
                    return (char)code;
                default: return character;
            }
        }

        private object ReadNumber()
        {
            var start = at;
            while (at < text.Length && "+-.eE0123456789".IndexOf(text[at]) >= 0) at += 1;
            double number;
            if (!double.TryParse(text.Substring(start, at - start), NumberStyles.Float, CultureInfo.InvariantCulture, out number))
            {
                at = start;
                throw Wrong();
            }
            return number;
        }
    }
}
