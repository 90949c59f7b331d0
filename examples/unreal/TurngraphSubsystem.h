// A client of turngraph for Unreal Engine 5. It resumes its session when the connection drops, and creates its agents again, with
// their dialogs, when the session is lost. All callbacks come on the game thread. Not compiled and not run yet.
#pragma once

#include "CoreMinimal.h"
#include "Containers/Ticker.h"
#include "Dom/JsonObject.h"
#include "HAL/PlatformProcess.h"
#include "Subsystems/GameInstanceSubsystem.h"
#include "TurngraphSubsystem.generated.h"

class IWebSocket;

/** Each frame of an answer: the name of its message, and its fields. */
using FTurngraphFrame = TFunction<void(const FString& Message, const TSharedPtr<FJsonObject>& Body)>;
/** The end of a request: the fields of its last answer, or the code of an error (1002: the session is lost). */
using FTurngraphEnd = TFunction<void(int32 Code, const TSharedPtr<FJsonObject>& Body)>;

/** One conversation. It outlives connections. */
struct FTurngraphAgent
{
	uint32 Id = 0;
	/** The createAgent that made it. */
	TSharedPtr<FJsonObject> Create;
	/** The dialog after the last turn, for the saved game. */
	FString HistoryJson;
};

DECLARE_MULTICAST_DELEGATE_OneParam(FTurngraphEvent, const FString&);

UCLASS()
class TURNGRAPH_API UTurngraphSubsystem : public UGameInstanceSubsystem
{
	GENERATED_BODY()

public:
	/** Requests are accepted; after a lost session, its agents are restored. */
	FTurngraphEvent OnReady;
	/** The session goes on, on a new connection. */
	FTurngraphEvent OnResumed;
	/** The connection ended, with the reason; another attempt follows. */
	FTurngraphEvent OnLost;
	/** Connecting again would be in vain, with the reason. */
	FTurngraphEvent OnStopped;

	/** Starts the server of a bundle. When it listens, the client connects to it. It ends with the game. */
	bool StartServer(const FString& BundleFolder, const FString& Options = TEXT(""));
	void StopServer();
	void Connect(const FString& Url, const FString& Token = TEXT(""));
	/** Destroys the agents and closes the connection. */
	void Close();
	bool IsReady() const { return bRestored; }

	/** Create has the fields of createAgent, such as graphName or graph. The agent is empty when it is refused. */
	void CreateAgent(TSharedRef<FJsonObject> Create, TFunction<void(TSharedPtr<FTurngraphAgent>)> Done);
	/**
	 * Sends a message: OnText gets pieces of the answer, OnCall each toolCallNotification, Done the turnComplete, and OnField the
	 * name and the JSON of each field of the answer.
	 */
	void Send(TSharedRef<FTurngraphAgent> Agent, const FString& Text, TFunction<void(const FString&)> OnText,
		TFunction<void(const TSharedPtr<FJsonObject>&)> OnCall, FTurngraphEnd Done,
		TFunction<void(const FString&, const FString&)> OnField = nullptr);
	void SubmitResult(TSharedRef<FTurngraphAgent> Agent, const FString& CallId, const FString& Content, bool bOk = true);
	void Cancel(TSharedRef<FTurngraphAgent> Agent);
	/** Any request, such as listModels, or downloadModel, whose progress comes as modelProgress. */
	void Request(const FString& Message, TSharedRef<FJsonObject> Body, FTurngraphEnd Done, FTurngraphFrame OnFrame = nullptr);

	virtual void Deinitialize() override;

private:
	struct FPending
	{
		uint32 Id = 0;
		/** The server counts the frames of a session. */
		uint32 Number = 0;
		FString Name;
		FString Frame;
		FTurngraphFrame OnFrame;
		FTurngraphEnd Done;
	};

	bool Tick(float DeltaSeconds);
	void Open();
	void Receive(const FString& Text);
	void Greet(const TSharedPtr<FJsonObject>& Ready);
	void Resume(const FString& Message, const TSharedPtr<FJsonObject>& Body, uint32 Seq);
	void Begin(uint32 FirstSeq);
	void RestoreNext(int32 Index, const FString& OfSession);
	void Restored();
	void Ended(int32 CloseCode, const FString& Why);
	void LoseSession();
	void Stop(const FString& Why);
	void DropSocket();
	void Enqueue(const FString& Message, TSharedRef<FJsonObject> Body, FTurngraphEnd Done, FTurngraphFrame OnFrame,
		bool bRestoring);
	void Export(TSharedRef<FTurngraphAgent> Agent, TFunction<void()> Done);

	TSharedPtr<IWebSocket> Socket, Last;
	FTSTicker::FDelegateHandle Ticker;
	TArray<TSharedRef<FTurngraphAgent>> Agents;
	/** In the order of their numbers. */
	TArray<TSharedRef<FPending>> Pending;
	TSharedPtr<FJsonObject> SessionReady;
	FString Address, Token, SessionId, ResumeToken, PortFile;
	FProcHandle Server;
	uint32 LastId = 0, LastNumber = 0, LastSeq = 0, ResumeId = 0;
	double NextAttempt = 0, DroppedAt = 0, PauseSeconds = 0.25;
	bool bAttached = false, bRestored = false, bStopped = true, bWaitsForPort = false;
};
