using UnrealBuildTool;

public class Turngraph : ModuleRules
{
    public Turngraph(ReadOnlyTargetRules Target) : base(Target)
    {
        PCHUsage = PCHUsageMode.UseExplicitOrSharedPCHs;
        PublicDependencyModuleNames.AddRange(new[] { "Core", "CoreUObject", "Engine", "Json" });
        PrivateDependencyModuleNames.AddRange(new[] { "HTTP", "WebSockets" });
    }
}
