using System.IO;
using UnityEditor;
using UnityEditor.Callbacks;
using UnityEngine;

namespace Turngraph.Editor
{
    /// <summary>Copies the bundle of the project to where the built player looks for it.</summary>
    public static class CopyBundle
    {
        [PostProcessBuild]
        public static void OnBuilt(BuildTarget target, string player)
        {
            var isMac = target == BuildTarget.StandaloneOSX;
            if (!isMac && target != BuildTarget.StandaloneWindows64 && target != BuildTarget.StandaloneLinux64) return;
            var source = Path.GetFullPath(TurngraphConnection.BundleFolder);
            var parent = isMac ? Path.Combine(player, "Contents", "Resources") : Path.GetDirectoryName(Path.GetFullPath(player));
            var copy = Path.GetFullPath(Path.Combine(parent, TurngraphConnection.BundleName));
            if (source == copy) return;
            if (!Directory.Exists(source))
            {
                Debug.LogWarning("The build has no turngraph server: make one for its system with \"turngraph bundle\" at " + source);
                return;
            }
            // What an earlier build has left.
            if (Directory.Exists(copy) && Directory.GetFiles(copy, "turngraph*").Length > 0) Directory.Delete(copy, true);
            Copy(source, copy);
        }

        private static void Copy(string source, string copy)
        {
            Directory.CreateDirectory(copy);
            foreach (var file in Directory.GetFiles(source)) File.Copy(file, Path.Combine(copy, Path.GetFileName(file)), true);
            foreach (var folder in Directory.GetDirectories(source)) Copy(folder, Path.Combine(copy, Path.GetFileName(folder)));
        }
    }
}
