using System;
using System.Collections.Concurrent;
using System.Threading;

namespace UnityEngine
{
    /// A substitute, so that the example runs without Unity: what is not said on the main thread is marked.
    public class MonoBehaviour
    {
    }

    public static class Application
    {
        public static readonly string streamingAssetsPath = Environment.GetEnvironmentVariable("STREAMING_ASSETS");
    }

    public static class Debug
    {
        public static void Log(object line)
        {
            Console.WriteLine((MainThread.IsCurrent ? "" : "NOT ON THE MAIN THREAD ") + line);
            Console.Out.Flush();
        }
    }

    /// Runs what is posted to it, one after the other, as Unity does between two frames.
    public sealed class MainThread : SynchronizationContext
    {
        private static Thread thread;
        private readonly BlockingCollection<Action> posted = new BlockingCollection<Action>();

        public static bool IsCurrent
        {
            get { return Thread.CurrentThread == thread; }
        }

        public override void Post(SendOrPostCallback callback, object state)
        {
            posted.Add(() => callback(state));
        }

        public void Run(Action start)
        {
            thread = Thread.CurrentThread;
            SetSynchronizationContext(this);
            start();
            foreach (var action in posted.GetConsumingEnumerable()) action();
        }
    }
}
