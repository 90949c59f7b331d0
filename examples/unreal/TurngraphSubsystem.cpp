#include "TurngraphSubsystem.h"

#include "HAL/FileManager.h"
#include "HAL/PlatformTime.h"
#include "IWebSocket.h"
#include "Misc/FileHelper.h"
#include "Misc/Paths.h"
#include "Modules/ModuleManager.h"
#include "Policies/CondensedJsonPrintPolicy.h"
#include "Serialization/JsonReader.h"
#include "Serialization/JsonSerializer.h"
#include "WebSocketsModule.h"

IMPLEMENT_MODULE(FDefaultModuleImpl, Turngraph)

namespace
{
	constexpr int32 Dropped = 1002;
	constexpr double ResumeLimitSeconds = 60;

	TSharedPtr<FJsonObject> Parse(const FString& Text)
	{
		TSharedPtr<FJsonObject> Object;
		FJsonSerializer::Deserialize(TJsonReaderFactory<>::Create(Text), Object);
		return Object;
	}

	FString Encode(uint32 Id, const FString& Message, const TSharedRef<FJsonObject>& Body)
	{
		const TSharedRef<FJsonObject> Frame = MakeShared<FJsonObject>();
		Frame->SetNumberField(TEXT("requestId"), Id);
		Frame->SetObjectField(Message, Body);
		FString Text;
		FJsonSerializer::Serialize(Frame, TJsonWriterFactory<TCHAR, TCondensedJsonPrintPolicy<TCHAR>>::Create(&Text));
		return Text;
	}

	uint32 NumberOf(const FJsonObject& Object, const TCHAR* Name)
	{
		double Value = 0;
		Object.TryGetNumberField(Name, Value);
		return static_cast<uint32>(Value);
	}

	FString TextOf(const FJsonObject& Object, const TCHAR* Name)
	{
		FString Value;
		Object.TryGetStringField(Name, Value);
		return Value;
	}

	bool IsFinal(const FString& Name, const FString& Message, const FJsonObject& Body)
	{
		if (Message == TEXT("turnComplete") || Message == TEXT("ack") || Message == TEXT("error")) return true;
		return Message == Name && NumberOf(Body, TEXT("part")) == NumberOf(Body, TEXT("of"));
	}

	const TSet<FString> KnownMessages = { TEXT("sessionReady"), TEXT("resumeSession"), TEXT("answerText"),
		TEXT("answerField"), TEXT("toolCallNotification"), TEXT("nodeEvent"), TEXT("modelProgress"), TEXT("turnComplete"),
		TEXT("ack"), TEXT("error") };
}

bool UTurngraphSubsystem::StartServer(const FString& BundleFolder, const FString& Options)
{
	PortFile = FPaths::ConvertRelativePathToFull(FPaths::ProjectSavedDir() / FString::Printf(TEXT("turngraph-%u.json"),
		FPlatformProcess::GetCurrentProcessId()));
	IFileManager::Get().Delete(*PortFile, false, true, true);
#if PLATFORM_WINDOWS
	const FString Program = BundleFolder / TEXT("turngraph.cmd");
#else
	const FString Program = BundleFolder / TEXT("turngraph");
#endif
	const FString Arguments = FString::Printf(TEXT("serve --port 0 --port-file \"%s\" --parent-pid %u --log-level silent %s"),
		*PortFile, FPlatformProcess::GetCurrentProcessId(), *Options);
	Server = FPlatformProcess::CreateProc(*Program, *Arguments, false, true, true, nullptr, 0, nullptr, nullptr);
	bWaitsForPort = Server.IsValid();
	if (bWaitsForPort && !Ticker.IsValid())
	{
		Ticker = FTSTicker::GetCoreTicker().AddTicker(FTickerDelegate::CreateUObject(this, &UTurngraphSubsystem::Tick), 0.05f);
	}
	return bWaitsForPort;
}

void UTurngraphSubsystem::StopServer()
{
	bWaitsForPort = false;
	if (!Server.IsValid()) return;
	FPlatformProcess::TerminateProc(Server, true);
	FPlatformProcess::CloseProc(Server);
	IFileManager::Get().Delete(*PortFile, false, true, true);
}

void UTurngraphSubsystem::Connect(const FString& Url, const FString& InToken)
{
	Address = Url;
	Token = InToken;
	bStopped = false;
	PauseSeconds = 0.25;
	NextAttempt = 0;
	if (Ticker.IsValid()) return;
	Ticker = FTSTicker::GetCoreTicker().AddTicker(FTickerDelegate::CreateUObject(this, &UTurngraphSubsystem::Tick), 0.05f);
}

void UTurngraphSubsystem::Close()
{
	if (bStopped) return;
	if (bAttached)
	{
		for (const TSharedRef<FTurngraphAgent>& Agent : Agents)
		{
			const TSharedRef<FJsonObject> Body = MakeShared<FJsonObject>();
			Body->SetNumberField(TEXT("agentId"), Agent->Id);
			Socket->Send(Encode(++LastId, TEXT("destroyAgent"), Body));
		}
	}
	Agents.Empty();
	Stop(TEXT("closed by the client"));
}

void UTurngraphSubsystem::Deinitialize()
{
	Close();
	StopServer();
	FTSTicker::GetCoreTicker().RemoveTicker(Ticker);
	Super::Deinitialize();
}

bool UTurngraphSubsystem::Tick(float)
{
	FString Line;
	if (bWaitsForPort && FPaths::FileExists(PortFile) && FFileHelper::LoadFileToString(Line, *PortFile))
	{
		bWaitsForPort = false;
		const TSharedPtr<FJsonObject> Listening = Parse(Line);
		if (Listening) Connect(FString::Printf(TEXT("ws://127.0.0.1:%u/"), NumberOf(*Listening, TEXT("port"))));
	}
	if (!bStopped && !Socket && FPlatformTime::Seconds() >= NextAttempt) Open();
	return true;
}

void UTurngraphSubsystem::Open()
{
	FWebSocketsModule& Module = FModuleManager::LoadModuleChecked<FWebSocketsModule>(TEXT("WebSockets"));
	TMap<FString, FString> Headers;
	if (!Token.IsEmpty()) Headers.Add(TEXT("Authorization"), TEXT("Bearer ") + Token);
	// A load balancer finds the server of the session by it.
	const FString Url = SessionId.IsEmpty() ? Address
		: Address + (Address.Contains(TEXT("?")) ? TEXT("&") : TEXT("?")) + TEXT("session=") + SessionId;
	Socket = Module.CreateWebSocket(Url, TEXT("turngraph.v1.json"), Headers);
	Socket->OnMessage().AddUObject(this, &UTurngraphSubsystem::Receive);
	Socket->OnConnectionError().AddWeakLambda(this, [this](const FString& Why) { Ended(0, Why); });
	Socket->OnClosed().AddWeakLambda(this, [this](int32 Code, const FString& Why, bool) { Ended(Code, Why); });
	Socket->Connect();
}

void UTurngraphSubsystem::Receive(const FString& Text)
{
	const TSharedPtr<FJsonObject> Frame = Parse(Text);
	if (!Frame) return Ended(0, TEXT("the server sent a frame that is no JSON object"));
	const uint32 Id = NumberOf(*Frame, TEXT("requestId"));
	const uint32 Seq = NumberOf(*Frame, TEXT("seq"));
	const TSharedRef<FPending>* Found = Pending.FindByPredicate([Id](const TSharedRef<FPending>& Each) { return Each->Id == Id; });
	const TSharedPtr<FPending> Request = Found ? TSharedPtr<FPending>(*Found) : nullptr;
	// A newer server may send messages and fields that are unknown here.
	FString Message;
	TSharedPtr<FJsonObject> Body;
	for (const auto& Member : Frame->Values)
	{
		const FString Name(Member.Key);
		if (!KnownMessages.Contains(Name) && !(Request && Request->Name == Name)) continue;
		const TSharedPtr<FJsonObject>* Object = nullptr;
		if (!Frame->TryGetObjectField(Name, Object)) continue;
		Message = Name;
		Body = *Object;
	}
	if (Message == TEXT("sessionReady")) return Greet(Body);
	if (Id != 0 && Id == ResumeId) return Resume(Message, Body, Seq);
	if (!bAttached) return;
	if (Seq != 0)
	{
		if (Seq <= LastSeq) return;
		if (Seq > LastSeq + 1) return Ended(1001, TEXT("the server has left out frames"));
		LastSeq = Seq;
		if (bRestored) PauseSeconds = 0.25;
	}
	if (!Request || !Body) return;
	if (Request->OnFrame) Request->OnFrame(Message, Body);
	if (!IsFinal(Request->Name, Message, *Body)) return;
	Pending.Remove(Request.ToSharedRef());
	const int32 Code = Message == TEXT("error") ? static_cast<int32>(NumberOf(*Body, TEXT("code"))) : 0;
	if (Request->Done) Request->Done(Code, Body);
}

void UTurngraphSubsystem::Greet(const TSharedPtr<FJsonObject>& Ready)
{
	SessionReady = Ready;
	if (SessionId.IsEmpty()) return Begin(0);
	// It has no number of its own, so it is not among the pending requests.
	ResumeId = ++LastId;
	const TSharedRef<FJsonObject> Body = MakeShared<FJsonObject>();
	Body->SetStringField(TEXT("sessionId"), SessionId);
	Body->SetStringField(TEXT("resumeToken"), ResumeToken);
	Body->SetNumberField(TEXT("lastSeq"), LastSeq);
	Socket->Send(Encode(ResumeId, TEXT("resumeSession"), Body));
}

void UTurngraphSubsystem::Resume(const FString& Message, const TSharedPtr<FJsonObject>& Body, uint32 Seq)
{
	ResumeId = 0;
	if (Message == TEXT("resumeSession"))
	{
		bAttached = true;
		const uint32 Received = NumberOf(*Body, TEXT("requestsReceived"));
		for (const TSharedRef<FPending>& Request : Pending)
		{
			if (Request->Number > Received) Socket->Send(Request->Frame);
		}
		OnResumed.Broadcast(SessionId);
		return;
	}
	LoseSession();
	// After 2001 and 2004 the server closes. The refusal is the first frame of the new session.
	if (Body && NumberOf(*Body, TEXT("code")) == 2003) Begin(Seq);
}

void UTurngraphSubsystem::Begin(uint32 FirstSeq)
{
	SessionId = TextOf(*SessionReady, TEXT("sessionId"));
	ResumeToken = TextOf(*SessionReady, TEXT("resumeToken"));
	LastId = LastNumber = 0;
	LastSeq = FirstSeq;
	bAttached = true;
	RestoreNext(0, SessionId);
}

void UTurngraphSubsystem::RestoreNext(int32 Index, const FString& OfSession)
{
	if (Index >= Agents.Num()) return Restored();
	const TSharedRef<FTurngraphAgent> Agent = Agents[Index];
	const TSharedRef<FJsonObject> Body = MakeShared<FJsonObject>(*Agent->Create);
	if (!Agent->HistoryJson.IsEmpty())
	{
		Body->RemoveField(TEXT("history"));
		Body->SetStringField(TEXT("historyJson"), Agent->HistoryJson);
	}
	Enqueue(TEXT("createAgent"), Body, [this, Agent, Index, OfSession](int32 Code, const TSharedPtr<FJsonObject>& Created)
	{
		if (SessionId != OfSession || Code == 2001) return;
		if (Code != 0) return Stop(TEXT("an agent cannot be restored: ") + TextOf(*Created, TEXT("message")));
		Agent->Id = NumberOf(*Created, TEXT("agentId"));
		RestoreNext(Index + 1, OfSession);
	}, nullptr, true);
}

void UTurngraphSubsystem::Restored()
{
	bRestored = true;
	PauseSeconds = 0.25;
	OnReady.Broadcast(SessionId);
}

void UTurngraphSubsystem::DropSocket()
{
	bAttached = false;
	ResumeId = 0;
	if (!Socket) return;
	Socket->OnMessage().Clear();
	Socket->OnConnectionError().Clear();
	Socket->OnClosed().Clear();
	if (Socket->IsConnected()) Socket->Close();
	// It may be in the middle of its own callback.
	Last = MoveTemp(Socket);
}

void UTurngraphSubsystem::Ended(int32 CloseCode, const FString& Why)
{
	const bool bWasAttached = bAttached;
	const double Now = FPlatformTime::Seconds();
	if (bWasAttached) DroppedAt = Now;
	DropSocket();
	// After these the next attempt would end likewise.
	if (CloseCode == 1002 || CloseCode == 4401 || CloseCode == 4406 || CloseCode == 4409) return Stop(Why);
	const double Wait = PauseSeconds * FMath::FRandRange(1.0, 1.5);
	NextAttempt = Now + Wait;
	PauseSeconds = FMath::Min(2 * PauseSeconds, 8.0);
	const bool bLost = CloseCode == 1001 || (bWasAttached && (CloseCode == 1009 || CloseCode == 4429));
	if (bLost || Now + Wait - DroppedAt > ResumeLimitSeconds) LoseSession();
	OnLost.Broadcast(Why);
}

void UTurngraphSubsystem::LoseSession()
{
	SessionId.Empty();
	bAttached = bRestored = false;
	// Who is told of a failed request may ask at once whether the client is ready.
	const TArray<TSharedRef<FPending>> Left = MoveTemp(Pending);
	Pending.Reset();
	for (const TSharedRef<FPending>& Request : Left)
	{
		if (Request->Done) Request->Done(Dropped, nullptr);
	}
}

void UTurngraphSubsystem::Stop(const FString& Why)
{
	bStopped = true;
	DropSocket();
	LoseSession();
	OnStopped.Broadcast(Why);
}

void UTurngraphSubsystem::Request(const FString& Message, TSharedRef<FJsonObject> Body, FTurngraphEnd Done, FTurngraphFrame OnFrame)
{
	Enqueue(Message, Body, MoveTemp(Done), MoveTemp(OnFrame), false);
}

void UTurngraphSubsystem::Enqueue(const FString& Message, TSharedRef<FJsonObject> Body, FTurngraphEnd Done,
	FTurngraphFrame OnFrame, bool bRestoring)
{
	// In a new session an old id may be that of another agent, so only its restoration may send before it is ready.
	if (SessionId.IsEmpty() || !(bRestored || bRestoring))
	{
		if (Done) Done(Dropped, nullptr);
		return;
	}
	const TSharedRef<FPending> Request = MakeShared<FPending>();
	Request->Id = ++LastId;
	Request->Number = ++LastNumber;
	Request->Name = Message;
	Request->Frame = Encode(Request->Id, Message, Body);
	Request->OnFrame = MoveTemp(OnFrame);
	Request->Done = MoveTemp(Done);
	Pending.Add(Request);
	if (bAttached) Socket->Send(Request->Frame);
}

void UTurngraphSubsystem::CreateAgent(TSharedRef<FJsonObject> Create, TFunction<void(TSharedPtr<FTurngraphAgent>)> Done)
{
	Request(TEXT("createAgent"), Create, [this, Create, Done](int32 Code, const TSharedPtr<FJsonObject>& Body)
	{
		if (Code != 0) return Done(nullptr);
		const TSharedRef<FTurngraphAgent> Agent = MakeShared<FTurngraphAgent>();
		Agent->Id = NumberOf(*Body, TEXT("agentId"));
		Agent->Create = Create;
		Agents.Add(Agent);
		Done(Agent);
	});
}

void UTurngraphSubsystem::Send(TSharedRef<FTurngraphAgent> Agent, const FString& Text, TFunction<void(const FString&)> OnText,
	TFunction<void(const TSharedPtr<FJsonObject>&)> OnCall, FTurngraphEnd Done,
	TFunction<void(const FString&, const FString&)> OnField)
{
	const TSharedRef<FJsonObject> Body = MakeShared<FJsonObject>();
	Body->SetNumberField(TEXT("agentId"), Agent->Id);
	Body->SetStringField(TEXT("text"), Text);
	Request(TEXT("sendMessage"), Body, [this, Agent, Done](int32 Code, const TSharedPtr<FJsonObject>& Turn)
	{
		if (Code != 0) return Done(Code, Turn);
		Export(Agent, [Done, Turn] { Done(0, Turn); });
	}, [OnText, OnCall, OnField](const FString& Message, const TSharedPtr<FJsonObject>& Frame)
	{
		if (Message == TEXT("answerText") && OnText && !TextOf(*Frame, TEXT("text")).IsEmpty()) OnText(TextOf(*Frame, TEXT("text")));
		if (Message == TEXT("toolCallNotification") && OnCall) OnCall(Frame);
		if (Message == TEXT("answerField") && OnField) OnField(TextOf(*Frame, TEXT("name")), TextOf(*Frame, TEXT("valueJson")));
	});
}

void UTurngraphSubsystem::Export(TSharedRef<FTurngraphAgent> Agent, TFunction<void()> Done)
{
	const TSharedRef<FJsonObject> Body = MakeShared<FJsonObject>();
	Body->SetNumberField(TEXT("agentId"), Agent->Id);
	const TSharedRef<FString> Parts = MakeShared<FString>();
	Request(TEXT("exportDialog"), Body, [Agent, Parts, Done](int32 Code, const TSharedPtr<FJsonObject>&)
	{
		if (Code == 0) Agent->HistoryJson = *Parts;
		Done();
	}, [Parts](const FString& Message, const TSharedPtr<FJsonObject>& Frame)
	{
		if (Message == TEXT("exportDialog")) *Parts += TextOf(*Frame, TEXT("historyJson"));
	});
}

void UTurngraphSubsystem::SubmitResult(TSharedRef<FTurngraphAgent> Agent, const FString& CallId, const FString& Content, bool bOk)
{
	const TSharedRef<FJsonObject> Result = MakeShared<FJsonObject>();
	Result->SetStringField(TEXT("callId"), CallId);
	Result->SetStringField(TEXT("content"), Content);
	Result->SetBoolField(TEXT("ok"), bOk);
	const TSharedRef<FJsonObject> Body = MakeShared<FJsonObject>();
	Body->SetNumberField(TEXT("agentId"), Agent->Id);
	Body->SetArrayField(TEXT("results"), { MakeShared<FJsonValueObject>(Result) });
	Request(TEXT("submitToolResults"), Body, nullptr);
}

void UTurngraphSubsystem::Cancel(TSharedRef<FTurngraphAgent> Agent)
{
	const TSharedRef<FJsonObject> Body = MakeShared<FJsonObject>();
	Body->SetNumberField(TEXT("agentId"), Agent->Id);
	Request(TEXT("cancelTurn"), Body, nullptr);
}
