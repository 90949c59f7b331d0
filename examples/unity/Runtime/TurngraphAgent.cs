using System.Threading.Tasks;
using UnityEngine;
using UnityEngine.Events;

namespace Turngraph
{
    /// <summary>One conversation, over the <see cref="TurngraphConnection"/> of the scene. Its events come on the main thread.</summary>
    [AddComponentMenu("Turngraph/Agent")]
    public sealed class TurngraphAgent : MonoBehaviour
    {
        [Tooltip("A graph of the server")]
        public string graphName = "chat";
        [Tooltip("A graph of the project, in its place")]
        public TextAsset graph;
        /// <summary>The agent is created, and its warnings are known.</summary>
        public UnityEvent onReady = new UnityEvent();
        public UnityEvent<string> onText = new UnityEvent<string>();
        public UnityEvent<ToolCall> onCall = new UnityEvent<ToolCall>();
        /// <summary>Name and value of a field of the answer, such as a mood.</summary>
        public UnityEvent<string, object> onField = new UnityEvent<string, object>();
        /// <summary>A turn has ended with SUCCESS or CANCELLED.</summary>
        public UnityEvent<Turn> onTurn = new UnityEvent<Turn>();
        /// <summary>The agent could not be created, or a turn has failed.</summary>
        public UnityEvent<string> onError = new UnityEvent<string>();

        /// <summary>The functions that are run for calls. Empty: submit results with <see cref="Agent"/>.</summary>
        public readonly ToolTable Tools = new ToolTable();
        /// <summary>The variables of each message.</summary>
        public readonly JsonObject Variables = new JsonObject();
        /// <summary>A dialog that was saved; set it before Start.</summary>
        public string history;

        private Task<Agent> creating;
        private bool isDestroyed;

        /// <summary>The agent of the client; null before onReady. Its HistoryJson is the dialog to be saved.</summary>
        public Agent Agent { get; private set; }

        /// <summary>Sends a message; its answer comes with the events.</summary>
        public async void Send(string text)
        {
            try
            {
                var agent = await CreateAsync();
                var turn = await agent.SendAsync(text,
                    piece => { if (!isDestroyed) onText.Invoke(piece); },
                    call => { if (!isDestroyed) onCall.Invoke(call); },
                    Variables, Tools.Count > 0 ? Tools : null,
                    (name, value) => { if (!isDestroyed) onField.Invoke(name, value); });
                if (!isDestroyed) onTurn.Invoke(turn);
            }
            catch (TurngraphException error)
            {
                if (!isDestroyed) onError.Invoke(error.Message);
            }
        }

        /// <summary>Cancels the running turn, if there is one: onTurn has the status CANCELLED.</summary>
        public async void Cancel()
        {
            if (Agent == null) return;
            try
            {
                await Agent.CancelAsync();
            }
            catch (TurngraphException error)
            {
                if (!isDestroyed) onError.Invoke(error.Message);
            }
        }

        private Task<Agent> CreateAsync()
        {
            return creating ?? (creating = OpenAsync());
        }

        private async Task<Agent> OpenAsync()
        {
            var connection = TurngraphConnection.Current;
            if (connection == null)
            {
                throw new TurngraphException(1001, "CONNECTION_FAILED", "no connection: add a TurngraphConnection to the scene");
            }
            var client = await connection.ConnectAsync();
            var create = new JsonObject();
            if (graph == null) create["graphName"] = graphName;
            else create["graphJson"] = graph.text;
            if (!string.IsNullOrEmpty(history)) create["history"] = history;
            Agent = await client.CreateAgentAsync(create);
            return Agent;
        }

        private async void Start()
        {
            try
            {
                await CreateAsync();
                if (isDestroyed) OnDestroy();
                else onReady.Invoke();
            }
            catch (TurngraphException error)
            {
                if (!isDestroyed) onError.Invoke(error.Message);
            }
        }

        private async void OnDestroy()
        {
            isDestroyed = true;
            if (Agent == null) return;
            try
            {
                await Agent.DestroyAsync();
            }
            catch (TurngraphException)
            {
                // The connection has ended before, and the agent with it.
            }
        }
    }
}
