// Stubs of the parts of Unity's API that the package uses, so that it compiles and runs without Unity.
using System;
using System.Collections.Concurrent;
using System.Collections.Generic;
using System.Reflection;
using System.Threading;

namespace UnityEngine
{
    public class MonoBehaviour
    {
        /// Calls a message of Unity, such as Awake, if the component has it.
        public void Call(string message)
        {
            var method = GetType().GetMethod(message, BindingFlags.Instance | BindingFlags.NonPublic);
            if (method != null) method.Invoke(this, null);
        }
    }

    public sealed class TextAsset
    {
        public readonly string text;

        public TextAsset(string text)
        {
            this.text = text;
        }
    }

    public sealed class AddComponentMenu : Attribute
    {
        public AddComponentMenu(string menu)
        {
        }
    }

    public sealed class TooltipAttribute : Attribute
    {
        public TooltipAttribute(string tip)
        {
        }
    }

    public enum RuntimePlatform
    {
        OSXPlayer,
        LinuxPlayer,
    }

    public static class Application
    {
        public static string dataPath = "";
        public static RuntimePlatform platform = RuntimePlatform.LinuxPlayer;
    }

    public static class GUILayout
    {
        public static bool Button(string text)
        {
            return false;
        }
    }

    public static class Debug
    {
        /// What is not said on the main thread is marked.
        public static void Log(object line)
        {
            Console.WriteLine((MainThread.IsCurrent ? "" : "NOT ON THE MAIN THREAD ") + line);
            Console.Out.Flush();
        }

        public static void LogWarning(object line)
        {
            Log("warning: " + line);
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

namespace UnityEngine.Events
{
    public class UnityEvent
    {
        private Action listeners = () => { };

        public void AddListener(Action listener)
        {
            listeners += listener;
        }

        public void Invoke()
        {
            listeners();
        }
    }

    public class UnityEvent<T>
    {
        private Action<T> listeners = value => { };

        public void AddListener(Action<T> listener)
        {
            listeners += listener;
        }

        public void Invoke(T value)
        {
            listeners(value);
        }
    }

    public class UnityEvent<T, U>
    {
        private Action<T, U> listeners = (first, second) => { };

        public void AddListener(Action<T, U> listener)
        {
            listeners += listener;
        }

        public void Invoke(T first, U second)
        {
            listeners(first, second);
        }
    }
}

namespace UnityEditor
{
    public enum BuildTarget
    {
        StandaloneOSX,
        StandaloneWindows64,
        StandaloneLinux64,
        Android,
    }

    public enum MessageType
    {
        None,
    }

    public sealed class MenuItem : Attribute
    {
        public MenuItem(string path)
        {
        }
    }

    public class EditorWindow
    {
        public static T GetWindow<T>(string title) where T : EditorWindow, new()
        {
            return new T();
        }

        public void Repaint()
        {
        }
    }

    public static class EditorGUILayout
    {
        public static string TextField(string label, string value)
        {
            return value;
        }

        public static int Popup(string label, int chosen, string[] names)
        {
            return chosen;
        }

        public static void HelpBox(string text, MessageType type)
        {
        }
    }

    public static class EditorPrefs
    {
        private static readonly Dictionary<string, string> Values = new Dictionary<string, string>();

        public static string GetString(string key, string initial)
        {
            string value;
            return Values.TryGetValue(key, out value) ? value : initial;
        }

        public static void SetString(string key, string value)
        {
            Values[key] = value;
        }
    }
}

namespace UnityEditor.Callbacks
{
    public sealed class PostProcessBuildAttribute : Attribute
    {
    }
}
