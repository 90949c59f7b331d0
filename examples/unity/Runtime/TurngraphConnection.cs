using System.IO;
using System.Threading.Tasks;
using UnityEngine;
using UnityEngine.Events;

namespace Turngraph
{
    /// <summary>The connection of all agents of a scene, and the server if the game starts it: put one into the scene.</summary>
    [AddComponentMenu("Turngraph/Connection")]
    public sealed class TurngraphConnection : MonoBehaviour
    {
        /// <summary>The folder of the bundle: in the project beside Assets, in a build beside the player.</summary>
        public const string BundleName = "game-server";

        [Tooltip("A server that runs already; empty: starts that of the bundle")]
        public string url = "";
        [Tooltip("The token of the server at the URL")]
        public string token = "";
        public UnityEvent<string> onLost = new UnityEvent<string>();
        public UnityEvent<string> onStopped = new UnityEvent<string>();
        public UnityEvent onResumed = new UnityEvent();
        public UnityEvent onRestarted = new UnityEvent();

        private Task<TurngraphClient> connecting;
        private TurngraphServer server;
        private TurngraphClient client;
        private bool isDestroyed;

        /// <summary>The connection of the scene; null: there is none.</summary>
        public static TurngraphConnection Current { get; private set; }

        /// <summary>Where the bundle is expected on this system.</summary>
        public static string BundleFolder
        {
            get
            {
                var isMac = Application.platform == RuntimePlatform.OSXPlayer;
                var parent = isMac ? Path.Combine(Application.dataPath, "Resources") : Path.GetDirectoryName(Application.dataPath);
                return Path.Combine(parent, BundleName);
            }
        }

        /// <summary>Starts the server on the first call. Ends when the client is ready.</summary>
        public Task<TurngraphClient> ConnectAsync()
        {
            return connecting ?? (connecting = OpenAsync());
        }

        private async Task<TurngraphClient> OpenAsync()
        {
            if (url == "")
            {
                server = await TurngraphServer.StartAsync(BundleFolder);
                if (isDestroyed)
                {
                    server.Dispose();
                    throw new TurngraphException(1002, "CONNECTION_DROPPED", "the connection was destroyed");
                }
            }
            client = server == null ? new TurngraphClient(url, token == "" ? null : token) : new TurngraphClient(server.Url, server.Token);
            client.Lost += error => onLost.Invoke(error.Message);
            client.Stopped += error => onStopped.Invoke(error.Message);
            client.Resumed += onResumed.Invoke;
            client.Restarted += onRestarted.Invoke;
            await client.ReadyAsync();
            return client;
        }

        private void Awake()
        {
            Current = this;
        }

        private void OnDestroy()
        {
            isDestroyed = true;
            if (Current == this) Current = null;
            if (client != null) client.Dispose();
            if (server != null) server.Dispose();
        }
    }
}
