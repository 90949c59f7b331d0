using System;
using System.Reflection;
using System.Threading;

namespace UnityEngine
{
    /// A substitute, so that the example of the README runs without Unity.
    public class MonoBehaviour
    {
    }

    public static class Debug
    {
        public static void Log(object line)
        {
            Console.WriteLine(line);
            Console.Out.Flush();
        }
    }
}

internal static class Player
{
    private static void Main()
    {
        typeof(Porch).GetMethod("Start", BindingFlags.Instance | BindingFlags.NonPublic).Invoke(new Porch(), null);
        Thread.Sleep(Timeout.Infinite);
    }
}
