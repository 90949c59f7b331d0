using System;
using UnityEditor;
using UnityEngine;

namespace Turngraph.Editor
{
    /// <summary>Window > Turngraph: lists graphs, and tries one.</summary>
    public sealed class TurngraphWindow : EditorWindow
    {
        private GraphTrial trial;
        private int chosen;
        private string message = "Hello!";
        private string shown = "";

        [MenuItem("Window/Turngraph")]
        public static void Open()
        {
            GetWindow<TurngraphWindow>("Turngraph");
        }

        private void OnEnable()
        {
            trial = new GraphTrial(line =>
            {
                shown += line + "\n";
                Repaint();
            });
        }

        private void OnDisable()
        {
            trial.Dispose();
        }

        private void OnGUI()
        {
            var program = Setting("Server", "turngraph.server", TurngraphConnection.BundleName);
            var folder = Setting("Graphs", "turngraph.graphs", TurngraphConnection.BundleName + "/graphs");
            if (!trial.IsRunning && GUILayout.Button("Start")) _ = trial.StartAsync(program, folder);
            if (trial.IsRunning && GUILayout.Button("Stop")) trial.Dispose();
            var graphs = GraphTrial.GraphsIn(folder);
            chosen = Math.Min(EditorGUILayout.Popup("Graph", chosen, graphs), Math.Max(0, graphs.Length - 1));
            message = EditorGUILayout.TextField("Message", message);
            if (graphs.Length > 0 && GUILayout.Button("Send")) _ = trial.SendAsync(graphs[chosen], message);
            EditorGUILayout.HelpBox(shown, MessageType.None);
        }

        /// <summary>A folder, relative to the project, that this computer remembers.</summary>
        private static string Setting(string label, string key, string initial)
        {
            var old = EditorPrefs.GetString(key, initial);
            var value = EditorGUILayout.TextField(label, old);
            if (value != old) EditorPrefs.SetString(key, value);
            return value;
        }
    }
}
