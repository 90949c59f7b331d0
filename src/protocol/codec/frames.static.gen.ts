// GENERATED from proto/turngraph/v1/wire.proto by npm run gen. Do not edit.
// @ts-nocheck
import $protobuf from 'protobufjs/minimal.js';
import type { Reader, Writer } from 'protobufjs/minimal.js';

var $Reader = $protobuf.Reader, $Writer = $protobuf.Writer, $util = $protobuf.util;
var $Object = $util.global.Object, $undefined = $util.global.undefined, $Error = $util.global.Error, $RangeError = $util.global.RangeError;
var $root = $protobuf.roots["turngraph"] || ($protobuf.roots["turngraph"] = {});
$root.turngraph = (function() {
var turngraph = {};
turngraph.v1 = (function() {
var v1 = {};
v1.ClientFrame = (function() {
var ClientFrame = function (p) {
if (p)
for (var ks = $Object.keys(p), i = 0; i < ks.length; ++i)
if (p[ks[i]] != null && ks[i] !== "__proto__")
this[ks[i]] = p[ks[i]];
};
ClientFrame.prototype.requestId = 0;
ClientFrame.prototype.configureSession = null;
ClientFrame.prototype.resumeSession = null;
ClientFrame.prototype.createAgent = null;
ClientFrame.prototype.sendMessage = null;
ClientFrame.prototype.cancelTurn = null;
ClientFrame.prototype.submitToolResults = null;
ClientFrame.prototype.changeParams = null;
ClientFrame.prototype.exportDialog = null;
ClientFrame.prototype.clearDialog = null;
ClientFrame.prototype.destroyAgent = null;
ClientFrame.prototype.listModels = null;
ClientFrame.prototype.downloadModel = null;
ClientFrame.prototype.cancelDownload = null;
ClientFrame.prototype.loadModel = null;
ClientFrame.prototype.unloadModel = null;
ClientFrame.prototype.deleteModel = null;
ClientFrame.prototype.createStringStorage = null;
ClientFrame.prototype.destroyStringStorage = null;
ClientFrame.prototype.appendDialog = null;
ClientFrame.prototype.setPace = null;
ClientFrame.prototype.searchStorage = null;
ClientFrame.prototype.appendText = null;
ClientFrame.prototype.setAgentMode = null;
ClientFrame.prototype.setVariables = null;
ClientFrame.prototype.addKnowledge = null;
ClientFrame.prototype.removeKnowledge = null;
ClientFrame.prototype.exportStorage = null;
ClientFrame.prototype.suggestModels = null;
ClientFrame.prototype.reportFrame = null;
var $oneOfFields;
$Object.defineProperty(ClientFrame.prototype, "body", {
get: $util.oneOfGetter($oneOfFields = ["configureSession", "resumeSession", "createAgent", "sendMessage", "cancelTurn", "submitToolResults", "changeParams", "exportDialog", "clearDialog", "destroyAgent", "listModels", "downloadModel", "cancelDownload", "loadModel", "unloadModel", "deleteModel", "createStringStorage", "destroyStringStorage", "appendDialog", "setPace", "searchStorage", "appendText", "setAgentMode", "setVariables", "addKnowledge", "removeKnowledge", "exportStorage", "suggestModels", "reportFrame"]),
set: $util.oneOfSetter($oneOfFields)
});
ClientFrame.encode = function (m, w, q) {
if (!w)
w = $Writer.create();
if (q === $undefined)
q = 0;
if (q > $util.recursionLimit)
throw $Error("max depth exceeded");
if (m.requestId != null && $Object.hasOwnProperty.call(m, "requestId") && m.requestId !== 0)
w.uint32(8).uint32(m.requestId);
if (m.configureSession != null && $Object.hasOwnProperty.call(m, "configureSession"))
$root.turngraph.v1.ConfigureSessionRequest.encode(m.configureSession, w.uint32(18).fork(), q + 1).ldelim();
if (m.resumeSession != null && $Object.hasOwnProperty.call(m, "resumeSession"))
$root.turngraph.v1.ResumeSessionRequest.encode(m.resumeSession, w.uint32(26).fork(), q + 1).ldelim();
if (m.createAgent != null && $Object.hasOwnProperty.call(m, "createAgent"))
$root.turngraph.v1.CreateAgentRequest.encode(m.createAgent, w.uint32(34).fork(), q + 1).ldelim();
if (m.sendMessage != null && $Object.hasOwnProperty.call(m, "sendMessage"))
$root.turngraph.v1.SendMessageRequest.encode(m.sendMessage, w.uint32(42).fork(), q + 1).ldelim();
if (m.cancelTurn != null && $Object.hasOwnProperty.call(m, "cancelTurn"))
$root.turngraph.v1.CancelTurnRequest.encode(m.cancelTurn, w.uint32(50).fork(), q + 1).ldelim();
if (m.submitToolResults != null && $Object.hasOwnProperty.call(m, "submitToolResults"))
$root.turngraph.v1.SubmitToolResultsRequest.encode(m.submitToolResults, w.uint32(58).fork(), q + 1).ldelim();
if (m.changeParams != null && $Object.hasOwnProperty.call(m, "changeParams"))
$root.turngraph.v1.ChangeParamsRequest.encode(m.changeParams, w.uint32(66).fork(), q + 1).ldelim();
if (m.exportDialog != null && $Object.hasOwnProperty.call(m, "exportDialog"))
$root.turngraph.v1.ExportDialogRequest.encode(m.exportDialog, w.uint32(74).fork(), q + 1).ldelim();
if (m.clearDialog != null && $Object.hasOwnProperty.call(m, "clearDialog"))
$root.turngraph.v1.ClearDialogRequest.encode(m.clearDialog, w.uint32(82).fork(), q + 1).ldelim();
if (m.destroyAgent != null && $Object.hasOwnProperty.call(m, "destroyAgent"))
$root.turngraph.v1.DestroyAgentRequest.encode(m.destroyAgent, w.uint32(90).fork(), q + 1).ldelim();
if (m.listModels != null && $Object.hasOwnProperty.call(m, "listModels"))
$root.turngraph.v1.ListModelsRequest.encode(m.listModels, w.uint32(98).fork(), q + 1).ldelim();
if (m.downloadModel != null && $Object.hasOwnProperty.call(m, "downloadModel"))
$root.turngraph.v1.DownloadModelRequest.encode(m.downloadModel, w.uint32(106).fork(), q + 1).ldelim();
if (m.cancelDownload != null && $Object.hasOwnProperty.call(m, "cancelDownload"))
$root.turngraph.v1.CancelDownloadRequest.encode(m.cancelDownload, w.uint32(114).fork(), q + 1).ldelim();
if (m.loadModel != null && $Object.hasOwnProperty.call(m, "loadModel"))
$root.turngraph.v1.LoadModelRequest.encode(m.loadModel, w.uint32(122).fork(), q + 1).ldelim();
if (m.unloadModel != null && $Object.hasOwnProperty.call(m, "unloadModel"))
$root.turngraph.v1.UnloadModelRequest.encode(m.unloadModel, w.uint32(130).fork(), q + 1).ldelim();
if (m.deleteModel != null && $Object.hasOwnProperty.call(m, "deleteModel"))
$root.turngraph.v1.DeleteModelRequest.encode(m.deleteModel, w.uint32(138).fork(), q + 1).ldelim();
if (m.createStringStorage != null && $Object.hasOwnProperty.call(m, "createStringStorage"))
$root.turngraph.v1.CreateStringStorageRequest.encode(m.createStringStorage, w.uint32(146).fork(), q + 1).ldelim();
if (m.destroyStringStorage != null && $Object.hasOwnProperty.call(m, "destroyStringStorage"))
$root.turngraph.v1.DestroyStringStorageRequest.encode(m.destroyStringStorage, w.uint32(154).fork(), q + 1).ldelim();
if (m.appendDialog != null && $Object.hasOwnProperty.call(m, "appendDialog"))
$root.turngraph.v1.AppendDialogRequest.encode(m.appendDialog, w.uint32(162).fork(), q + 1).ldelim();
if (m.setPace != null && $Object.hasOwnProperty.call(m, "setPace"))
$root.turngraph.v1.SetPaceRequest.encode(m.setPace, w.uint32(170).fork(), q + 1).ldelim();
if (m.searchStorage != null && $Object.hasOwnProperty.call(m, "searchStorage"))
$root.turngraph.v1.SearchStorageRequest.encode(m.searchStorage, w.uint32(178).fork(), q + 1).ldelim();
if (m.appendText != null && $Object.hasOwnProperty.call(m, "appendText"))
$root.turngraph.v1.AppendTextRequest.encode(m.appendText, w.uint32(186).fork(), q + 1).ldelim();
if (m.setAgentMode != null && $Object.hasOwnProperty.call(m, "setAgentMode"))
$root.turngraph.v1.SetAgentModeRequest.encode(m.setAgentMode, w.uint32(194).fork(), q + 1).ldelim();
if (m.setVariables != null && $Object.hasOwnProperty.call(m, "setVariables"))
$root.turngraph.v1.SetVariablesRequest.encode(m.setVariables, w.uint32(202).fork(), q + 1).ldelim();
if (m.addKnowledge != null && $Object.hasOwnProperty.call(m, "addKnowledge"))
$root.turngraph.v1.AddKnowledgeRequest.encode(m.addKnowledge, w.uint32(210).fork(), q + 1).ldelim();
if (m.removeKnowledge != null && $Object.hasOwnProperty.call(m, "removeKnowledge"))
$root.turngraph.v1.RemoveKnowledgeRequest.encode(m.removeKnowledge, w.uint32(218).fork(), q + 1).ldelim();
if (m.exportStorage != null && $Object.hasOwnProperty.call(m, "exportStorage"))
$root.turngraph.v1.ExportStorageRequest.encode(m.exportStorage, w.uint32(226).fork(), q + 1).ldelim();
if (m.suggestModels != null && $Object.hasOwnProperty.call(m, "suggestModels"))
$root.turngraph.v1.SuggestModelsRequest.encode(m.suggestModels, w.uint32(234).fork(), q + 1).ldelim();
if (m.reportFrame != null && $Object.hasOwnProperty.call(m, "reportFrame"))
$root.turngraph.v1.ReportFrameRequest.encode(m.reportFrame, w.uint32(242).fork(), q + 1).ldelim();
if (m.$unknowns != null && $Object.hasOwnProperty.call(m, "$unknowns"))
for (var i = 0; i < m.$unknowns.length; ++i)
w.raw(m.$unknowns[i]);
return w;
};
ClientFrame.decode = function (r, l, z, q, g) {
if (!(r instanceof $Reader))
r = $Reader.create(r);
if (q === $undefined)
q = 0;
if (q > $Reader.recursionLimit)
throw $Error("max depth exceeded");
var c, m, v;
if (l === $undefined)
c = r.len;
else {
c = r.pos + l;
if (c > r.len)
throw $RangeError("index out of range");
l = r.len;
r.len = c;
}
m = g || new $root.turngraph.v1.ClientFrame();
while (r.pos < c) {
var s = r.pos;
var t = r.tag();
if (t === z) {
z = $undefined;
break;
}
var u = t & 7;
switch (t >>>= 3) {
case 1: {
if (u !== 0)
break;
if (v = r.uint32())
m.requestId = v;
else
delete m.requestId;
continue;
}
case 2: {
if (u !== 2)
break;
m.configureSession = $root.turngraph.v1.ConfigureSessionRequest.decode(r, r.size(), $undefined, q + 1, m.configureSession);
continue;
}
case 3: {
if (u !== 2)
break;
m.resumeSession = $root.turngraph.v1.ResumeSessionRequest.decode(r, r.size(), $undefined, q + 1, m.resumeSession);
continue;
}
case 4: {
if (u !== 2)
break;
m.createAgent = $root.turngraph.v1.CreateAgentRequest.decode(r, r.size(), $undefined, q + 1, m.createAgent);
continue;
}
case 5: {
if (u !== 2)
break;
m.sendMessage = $root.turngraph.v1.SendMessageRequest.decode(r, r.size(), $undefined, q + 1, m.sendMessage);
continue;
}
case 6: {
if (u !== 2)
break;
m.cancelTurn = $root.turngraph.v1.CancelTurnRequest.decode(r, r.size(), $undefined, q + 1, m.cancelTurn);
continue;
}
case 7: {
if (u !== 2)
break;
m.submitToolResults = $root.turngraph.v1.SubmitToolResultsRequest.decode(r, r.size(), $undefined, q + 1, m.submitToolResults);
continue;
}
case 8: {
if (u !== 2)
break;
m.changeParams = $root.turngraph.v1.ChangeParamsRequest.decode(r, r.size(), $undefined, q + 1, m.changeParams);
continue;
}
case 9: {
if (u !== 2)
break;
m.exportDialog = $root.turngraph.v1.ExportDialogRequest.decode(r, r.size(), $undefined, q + 1, m.exportDialog);
continue;
}
case 10: {
if (u !== 2)
break;
m.clearDialog = $root.turngraph.v1.ClearDialogRequest.decode(r, r.size(), $undefined, q + 1, m.clearDialog);
continue;
}
case 11: {
if (u !== 2)
break;
m.destroyAgent = $root.turngraph.v1.DestroyAgentRequest.decode(r, r.size(), $undefined, q + 1, m.destroyAgent);
continue;
}
case 12: {
if (u !== 2)
break;
m.listModels = $root.turngraph.v1.ListModelsRequest.decode(r, r.size(), $undefined, q + 1, m.listModels);
continue;
}
case 13: {
if (u !== 2)
break;
m.downloadModel = $root.turngraph.v1.DownloadModelRequest.decode(r, r.size(), $undefined, q + 1, m.downloadModel);
continue;
}
case 14: {
if (u !== 2)
break;
m.cancelDownload = $root.turngraph.v1.CancelDownloadRequest.decode(r, r.size(), $undefined, q + 1, m.cancelDownload);
continue;
}
case 15: {
if (u !== 2)
break;
m.loadModel = $root.turngraph.v1.LoadModelRequest.decode(r, r.size(), $undefined, q + 1, m.loadModel);
continue;
}
case 16: {
if (u !== 2)
break;
m.unloadModel = $root.turngraph.v1.UnloadModelRequest.decode(r, r.size(), $undefined, q + 1, m.unloadModel);
continue;
}
case 17: {
if (u !== 2)
break;
m.deleteModel = $root.turngraph.v1.DeleteModelRequest.decode(r, r.size(), $undefined, q + 1, m.deleteModel);
continue;
}
case 18: {
if (u !== 2)
break;
m.createStringStorage = $root.turngraph.v1.CreateStringStorageRequest.decode(r, r.size(), $undefined, q + 1, m.createStringStorage);
continue;
}
case 19: {
if (u !== 2)
break;
m.destroyStringStorage = $root.turngraph.v1.DestroyStringStorageRequest.decode(r, r.size(), $undefined, q + 1, m.destroyStringStorage);
continue;
}
case 20: {
if (u !== 2)
break;
m.appendDialog = $root.turngraph.v1.AppendDialogRequest.decode(r, r.size(), $undefined, q + 1, m.appendDialog);
continue;
}
case 21: {
if (u !== 2)
break;
m.setPace = $root.turngraph.v1.SetPaceRequest.decode(r, r.size(), $undefined, q + 1, m.setPace);
continue;
}
case 22: {
if (u !== 2)
break;
m.searchStorage = $root.turngraph.v1.SearchStorageRequest.decode(r, r.size(), $undefined, q + 1, m.searchStorage);
continue;
}
case 23: {
if (u !== 2)
break;
m.appendText = $root.turngraph.v1.AppendTextRequest.decode(r, r.size(), $undefined, q + 1, m.appendText);
continue;
}
case 24: {
if (u !== 2)
break;
m.setAgentMode = $root.turngraph.v1.SetAgentModeRequest.decode(r, r.size(), $undefined, q + 1, m.setAgentMode);
continue;
}
case 25: {
if (u !== 2)
break;
m.setVariables = $root.turngraph.v1.SetVariablesRequest.decode(r, r.size(), $undefined, q + 1, m.setVariables);
continue;
}
case 26: {
if (u !== 2)
break;
m.addKnowledge = $root.turngraph.v1.AddKnowledgeRequest.decode(r, r.size(), $undefined, q + 1, m.addKnowledge);
continue;
}
case 27: {
if (u !== 2)
break;
m.removeKnowledge = $root.turngraph.v1.RemoveKnowledgeRequest.decode(r, r.size(), $undefined, q + 1, m.removeKnowledge);
continue;
}
case 28: {
if (u !== 2)
break;
m.exportStorage = $root.turngraph.v1.ExportStorageRequest.decode(r, r.size(), $undefined, q + 1, m.exportStorage);
continue;
}
case 29: {
if (u !== 2)
break;
m.suggestModels = $root.turngraph.v1.SuggestModelsRequest.decode(r, r.size(), $undefined, q + 1, m.suggestModels);
continue;
}
case 30: {
if (u !== 2)
break;
m.reportFrame = $root.turngraph.v1.ReportFrameRequest.decode(r, r.size(), $undefined, q + 1, m.reportFrame);
continue;
}
}
r.skipType(u, q, t);
if (!r.discardUnknown) {
$util.makeProp(m, "$unknowns", false);
(m.$unknowns || (m.$unknowns = [])).push(r.raw(s, r.pos));
}
}
if (l !== $undefined) {
if (r.pos !== c)
throw $RangeError("index out of range");
r.len = l;
}
if (z !== $undefined)
throw $Error("missing end group");
return m;
};
return ClientFrame;
})();
v1.ServerFrame = (function() {
var ServerFrame = function (p) {
if (p)
for (var ks = $Object.keys(p), i = 0; i < ks.length; ++i)
if (p[ks[i]] != null && ks[i] !== "__proto__")
this[ks[i]] = p[ks[i]];
};
ServerFrame.prototype.requestId = 0;
ServerFrame.prototype.seq = 0;
ServerFrame.prototype.sessionReady = null;
ServerFrame.prototype.configureSession = null;
ServerFrame.prototype.resumeSession = null;
ServerFrame.prototype.createAgent = null;
ServerFrame.prototype.answerText = null;
ServerFrame.prototype.toolCallNotification = null;
ServerFrame.prototype.nodeEvent = null;
ServerFrame.prototype.turnComplete = null;
ServerFrame.prototype.exportDialog = null;
ServerFrame.prototype.listModels = null;
ServerFrame.prototype.modelProgress = null;
ServerFrame.prototype.downloadModel = null;
ServerFrame.prototype.loadModel = null;
ServerFrame.prototype.createStringStorage = null;
ServerFrame.prototype.ack = null;
ServerFrame.prototype.error = null;
ServerFrame.prototype.searchStorage = null;
ServerFrame.prototype.exportStorage = null;
ServerFrame.prototype.answerField = null;
ServerFrame.prototype.addKnowledge = null;
ServerFrame.prototype.suggestModels = null;
var $oneOfFields;
$Object.defineProperty(ServerFrame.prototype, "body", {
get: $util.oneOfGetter($oneOfFields = ["sessionReady", "configureSession", "resumeSession", "createAgent", "answerText", "toolCallNotification", "nodeEvent", "turnComplete", "exportDialog", "listModels", "modelProgress", "downloadModel", "loadModel", "createStringStorage", "ack", "error", "searchStorage", "exportStorage", "answerField", "addKnowledge", "suggestModels"]),
set: $util.oneOfSetter($oneOfFields)
});
ServerFrame.encode = function (m, w, q) {
if (!w)
w = $Writer.create();
if (q === $undefined)
q = 0;
if (q > $util.recursionLimit)
throw $Error("max depth exceeded");
if (m.requestId != null && $Object.hasOwnProperty.call(m, "requestId") && m.requestId !== 0)
w.uint32(8).uint32(m.requestId);
if (m.seq != null && $Object.hasOwnProperty.call(m, "seq") && m.seq !== 0)
w.uint32(16).uint32(m.seq);
if (m.sessionReady != null && $Object.hasOwnProperty.call(m, "sessionReady"))
$root.turngraph.v1.SessionReady.encode(m.sessionReady, w.uint32(26).fork(), q + 1).ldelim();
if (m.configureSession != null && $Object.hasOwnProperty.call(m, "configureSession"))
$root.turngraph.v1.ConfigureSessionResponse.encode(m.configureSession, w.uint32(34).fork(), q + 1).ldelim();
if (m.resumeSession != null && $Object.hasOwnProperty.call(m, "resumeSession"))
$root.turngraph.v1.ResumeSessionResponse.encode(m.resumeSession, w.uint32(42).fork(), q + 1).ldelim();
if (m.createAgent != null && $Object.hasOwnProperty.call(m, "createAgent"))
$root.turngraph.v1.CreateAgentResponse.encode(m.createAgent, w.uint32(50).fork(), q + 1).ldelim();
if (m.answerText != null && $Object.hasOwnProperty.call(m, "answerText"))
$root.turngraph.v1.AnswerText.encode(m.answerText, w.uint32(58).fork(), q + 1).ldelim();
if (m.toolCallNotification != null && $Object.hasOwnProperty.call(m, "toolCallNotification"))
$root.turngraph.v1.ToolCallNotification.encode(m.toolCallNotification, w.uint32(66).fork(), q + 1).ldelim();
if (m.nodeEvent != null && $Object.hasOwnProperty.call(m, "nodeEvent"))
$root.turngraph.v1.NodeEvent.encode(m.nodeEvent, w.uint32(74).fork(), q + 1).ldelim();
if (m.turnComplete != null && $Object.hasOwnProperty.call(m, "turnComplete"))
$root.turngraph.v1.TurnComplete.encode(m.turnComplete, w.uint32(82).fork(), q + 1).ldelim();
if (m.exportDialog != null && $Object.hasOwnProperty.call(m, "exportDialog"))
$root.turngraph.v1.ExportDialogResponse.encode(m.exportDialog, w.uint32(90).fork(), q + 1).ldelim();
if (m.listModels != null && $Object.hasOwnProperty.call(m, "listModels"))
$root.turngraph.v1.ListModelsResponse.encode(m.listModels, w.uint32(98).fork(), q + 1).ldelim();
if (m.modelProgress != null && $Object.hasOwnProperty.call(m, "modelProgress"))
$root.turngraph.v1.ModelProgress.encode(m.modelProgress, w.uint32(106).fork(), q + 1).ldelim();
if (m.downloadModel != null && $Object.hasOwnProperty.call(m, "downloadModel"))
$root.turngraph.v1.DownloadModelResponse.encode(m.downloadModel, w.uint32(114).fork(), q + 1).ldelim();
if (m.loadModel != null && $Object.hasOwnProperty.call(m, "loadModel"))
$root.turngraph.v1.LoadModelResponse.encode(m.loadModel, w.uint32(122).fork(), q + 1).ldelim();
if (m.createStringStorage != null && $Object.hasOwnProperty.call(m, "createStringStorage"))
$root.turngraph.v1.CreateStringStorageResponse.encode(m.createStringStorage, w.uint32(130).fork(), q + 1).ldelim();
if (m.ack != null && $Object.hasOwnProperty.call(m, "ack"))
$root.turngraph.v1.Ack.encode(m.ack, w.uint32(138).fork(), q + 1).ldelim();
if (m.error != null && $Object.hasOwnProperty.call(m, "error"))
$root.turngraph.v1.ErrorResponse.encode(m.error, w.uint32(146).fork(), q + 1).ldelim();
if (m.searchStorage != null && $Object.hasOwnProperty.call(m, "searchStorage"))
$root.turngraph.v1.SearchStorageResponse.encode(m.searchStorage, w.uint32(154).fork(), q + 1).ldelim();
if (m.exportStorage != null && $Object.hasOwnProperty.call(m, "exportStorage"))
$root.turngraph.v1.ExportStorageResponse.encode(m.exportStorage, w.uint32(162).fork(), q + 1).ldelim();
if (m.answerField != null && $Object.hasOwnProperty.call(m, "answerField"))
$root.turngraph.v1.AnswerField.encode(m.answerField, w.uint32(170).fork(), q + 1).ldelim();
if (m.addKnowledge != null && $Object.hasOwnProperty.call(m, "addKnowledge"))
$root.turngraph.v1.AddKnowledgeResponse.encode(m.addKnowledge, w.uint32(178).fork(), q + 1).ldelim();
if (m.suggestModels != null && $Object.hasOwnProperty.call(m, "suggestModels"))
$root.turngraph.v1.SuggestModelsResponse.encode(m.suggestModels, w.uint32(186).fork(), q + 1).ldelim();
if (m.$unknowns != null && $Object.hasOwnProperty.call(m, "$unknowns"))
for (var i = 0; i < m.$unknowns.length; ++i)
w.raw(m.$unknowns[i]);
return w;
};
ServerFrame.decode = function (r, l, z, q, g) {
if (!(r instanceof $Reader))
r = $Reader.create(r);
if (q === $undefined)
q = 0;
if (q > $Reader.recursionLimit)
throw $Error("max depth exceeded");
var c, m, v;
if (l === $undefined)
c = r.len;
else {
c = r.pos + l;
if (c > r.len)
throw $RangeError("index out of range");
l = r.len;
r.len = c;
}
m = g || new $root.turngraph.v1.ServerFrame();
while (r.pos < c) {
var s = r.pos;
var t = r.tag();
if (t === z) {
z = $undefined;
break;
}
var u = t & 7;
switch (t >>>= 3) {
case 1: {
if (u !== 0)
break;
if (v = r.uint32())
m.requestId = v;
else
delete m.requestId;
continue;
}
case 2: {
if (u !== 0)
break;
if (v = r.uint32())
m.seq = v;
else
delete m.seq;
continue;
}
case 3: {
if (u !== 2)
break;
m.sessionReady = $root.turngraph.v1.SessionReady.decode(r, r.size(), $undefined, q + 1, m.sessionReady);
continue;
}
case 4: {
if (u !== 2)
break;
m.configureSession = $root.turngraph.v1.ConfigureSessionResponse.decode(r, r.size(), $undefined, q + 1, m.configureSession);
continue;
}
case 5: {
if (u !== 2)
break;
m.resumeSession = $root.turngraph.v1.ResumeSessionResponse.decode(r, r.size(), $undefined, q + 1, m.resumeSession);
continue;
}
case 6: {
if (u !== 2)
break;
m.createAgent = $root.turngraph.v1.CreateAgentResponse.decode(r, r.size(), $undefined, q + 1, m.createAgent);
continue;
}
case 7: {
if (u !== 2)
break;
m.answerText = $root.turngraph.v1.AnswerText.decode(r, r.size(), $undefined, q + 1, m.answerText);
continue;
}
case 8: {
if (u !== 2)
break;
m.toolCallNotification = $root.turngraph.v1.ToolCallNotification.decode(r, r.size(), $undefined, q + 1, m.toolCallNotification);
continue;
}
case 9: {
if (u !== 2)
break;
m.nodeEvent = $root.turngraph.v1.NodeEvent.decode(r, r.size(), $undefined, q + 1, m.nodeEvent);
continue;
}
case 10: {
if (u !== 2)
break;
m.turnComplete = $root.turngraph.v1.TurnComplete.decode(r, r.size(), $undefined, q + 1, m.turnComplete);
continue;
}
case 11: {
if (u !== 2)
break;
m.exportDialog = $root.turngraph.v1.ExportDialogResponse.decode(r, r.size(), $undefined, q + 1, m.exportDialog);
continue;
}
case 12: {
if (u !== 2)
break;
m.listModels = $root.turngraph.v1.ListModelsResponse.decode(r, r.size(), $undefined, q + 1, m.listModels);
continue;
}
case 13: {
if (u !== 2)
break;
m.modelProgress = $root.turngraph.v1.ModelProgress.decode(r, r.size(), $undefined, q + 1, m.modelProgress);
continue;
}
case 14: {
if (u !== 2)
break;
m.downloadModel = $root.turngraph.v1.DownloadModelResponse.decode(r, r.size(), $undefined, q + 1, m.downloadModel);
continue;
}
case 15: {
if (u !== 2)
break;
m.loadModel = $root.turngraph.v1.LoadModelResponse.decode(r, r.size(), $undefined, q + 1, m.loadModel);
continue;
}
case 16: {
if (u !== 2)
break;
m.createStringStorage = $root.turngraph.v1.CreateStringStorageResponse.decode(r, r.size(), $undefined, q + 1, m.createStringStorage);
continue;
}
case 17: {
if (u !== 2)
break;
m.ack = $root.turngraph.v1.Ack.decode(r, r.size(), $undefined, q + 1, m.ack);
continue;
}
case 18: {
if (u !== 2)
break;
m.error = $root.turngraph.v1.ErrorResponse.decode(r, r.size(), $undefined, q + 1, m.error);
continue;
}
case 19: {
if (u !== 2)
break;
m.searchStorage = $root.turngraph.v1.SearchStorageResponse.decode(r, r.size(), $undefined, q + 1, m.searchStorage);
continue;
}
case 20: {
if (u !== 2)
break;
m.exportStorage = $root.turngraph.v1.ExportStorageResponse.decode(r, r.size(), $undefined, q + 1, m.exportStorage);
continue;
}
case 21: {
if (u !== 2)
break;
m.answerField = $root.turngraph.v1.AnswerField.decode(r, r.size(), $undefined, q + 1, m.answerField);
continue;
}
case 22: {
if (u !== 2)
break;
m.addKnowledge = $root.turngraph.v1.AddKnowledgeResponse.decode(r, r.size(), $undefined, q + 1, m.addKnowledge);
continue;
}
case 23: {
if (u !== 2)
break;
m.suggestModels = $root.turngraph.v1.SuggestModelsResponse.decode(r, r.size(), $undefined, q + 1, m.suggestModels);
continue;
}
}
r.skipType(u, q, t);
if (!r.discardUnknown) {
$util.makeProp(m, "$unknowns", false);
(m.$unknowns || (m.$unknowns = [])).push(r.raw(s, r.pos));
}
}
if (l !== $undefined) {
if (r.pos !== c)
throw $RangeError("index out of range");
r.len = l;
}
if (z !== $undefined)
throw $Error("missing end group");
return m;
};
return ServerFrame;
})();
v1.SessionReady = (function() {
var SessionReady = function (p) {
if (p)
for (var ks = $Object.keys(p), i = 0; i < ks.length; ++i)
if (p[ks[i]] != null && ks[i] !== "__proto__")
this[ks[i]] = p[ks[i]];
};
SessionReady.prototype.protocolVersion = 0;
SessionReady.prototype.sessionId = "";
SessionReady.prototype.resumeToken = "";
SessionReady.prototype.serverVersion = "";
SessionReady.encode = function (m, w, q) {
if (!w)
w = $Writer.create();
if (q === $undefined)
q = 0;
if (q > $util.recursionLimit)
throw $Error("max depth exceeded");
if (m.protocolVersion != null && $Object.hasOwnProperty.call(m, "protocolVersion") && m.protocolVersion !== 0)
w.uint32(8).uint32(m.protocolVersion);
if (m.sessionId != null && $Object.hasOwnProperty.call(m, "sessionId") && m.sessionId !== "")
w.uint32(18).string(m.sessionId);
if (m.resumeToken != null && $Object.hasOwnProperty.call(m, "resumeToken") && m.resumeToken !== "")
w.uint32(26).string(m.resumeToken);
if (m.serverVersion != null && $Object.hasOwnProperty.call(m, "serverVersion") && m.serverVersion !== "")
w.uint32(34).string(m.serverVersion);
if (m.$unknowns != null && $Object.hasOwnProperty.call(m, "$unknowns"))
for (var i = 0; i < m.$unknowns.length; ++i)
w.raw(m.$unknowns[i]);
return w;
};
SessionReady.decode = function (r, l, z, q, g) {
if (!(r instanceof $Reader))
r = $Reader.create(r);
if (q === $undefined)
q = 0;
if (q > $Reader.recursionLimit)
throw $Error("max depth exceeded");
var c, m, v;
if (l === $undefined)
c = r.len;
else {
c = r.pos + l;
if (c > r.len)
throw $RangeError("index out of range");
l = r.len;
r.len = c;
}
m = g || new $root.turngraph.v1.SessionReady();
while (r.pos < c) {
var s = r.pos;
var t = r.tag();
if (t === z) {
z = $undefined;
break;
}
var u = t & 7;
switch (t >>>= 3) {
case 1: {
if (u !== 0)
break;
if (v = r.uint32())
m.protocolVersion = v;
else
delete m.protocolVersion;
continue;
}
case 2: {
if (u !== 2)
break;
if ((v = r.stringVerify()).length)
m.sessionId = v;
else
delete m.sessionId;
continue;
}
case 3: {
if (u !== 2)
break;
if ((v = r.stringVerify()).length)
m.resumeToken = v;
else
delete m.resumeToken;
continue;
}
case 4: {
if (u !== 2)
break;
if ((v = r.stringVerify()).length)
m.serverVersion = v;
else
delete m.serverVersion;
continue;
}
}
r.skipType(u, q, t);
if (!r.discardUnknown) {
$util.makeProp(m, "$unknowns", false);
(m.$unknowns || (m.$unknowns = [])).push(r.raw(s, r.pos));
}
}
if (l !== $undefined) {
if (r.pos !== c)
throw $RangeError("index out of range");
r.len = l;
}
if (z !== $undefined)
throw $Error("missing end group");
return m;
};
return SessionReady;
})();
v1.ConfigureSessionRequest = (function() {
var ConfigureSessionRequest = function (p) {
if (p)
for (var ks = $Object.keys(p), i = 0; i < ks.length; ++i)
if (p[ks[i]] != null && ks[i] !== "__proto__")
this[ks[i]] = p[ks[i]];
};
ConfigureSessionRequest.prototype.engine = "";
ConfigureSessionRequest.prototype.storageDataFolder = "";
ConfigureSessionRequest.prototype.allowAutoModelDownloading = false;
ConfigureSessionRequest.prototype.memoryKey = "";
ConfigureSessionRequest.encode = function (m, w, q) {
if (!w)
w = $Writer.create();
if (q === $undefined)
q = 0;
if (q > $util.recursionLimit)
throw $Error("max depth exceeded");
if (m.engine != null && $Object.hasOwnProperty.call(m, "engine") && m.engine !== "")
w.uint32(10).string(m.engine);
if (m.storageDataFolder != null && $Object.hasOwnProperty.call(m, "storageDataFolder") && m.storageDataFolder !== "")
w.uint32(18).string(m.storageDataFolder);
if (m.allowAutoModelDownloading != null && $Object.hasOwnProperty.call(m, "allowAutoModelDownloading") && m.allowAutoModelDownloading !== false)
w.uint32(24).bool(m.allowAutoModelDownloading);
if (m.memoryKey != null && $Object.hasOwnProperty.call(m, "memoryKey") && m.memoryKey !== "")
w.uint32(34).string(m.memoryKey);
if (m.$unknowns != null && $Object.hasOwnProperty.call(m, "$unknowns"))
for (var i = 0; i < m.$unknowns.length; ++i)
w.raw(m.$unknowns[i]);
return w;
};
ConfigureSessionRequest.decode = function (r, l, z, q, g) {
if (!(r instanceof $Reader))
r = $Reader.create(r);
if (q === $undefined)
q = 0;
if (q > $Reader.recursionLimit)
throw $Error("max depth exceeded");
var c, m, v;
if (l === $undefined)
c = r.len;
else {
c = r.pos + l;
if (c > r.len)
throw $RangeError("index out of range");
l = r.len;
r.len = c;
}
m = g || new $root.turngraph.v1.ConfigureSessionRequest();
while (r.pos < c) {
var s = r.pos;
var t = r.tag();
if (t === z) {
z = $undefined;
break;
}
var u = t & 7;
switch (t >>>= 3) {
case 1: {
if (u !== 2)
break;
if ((v = r.stringVerify()).length)
m.engine = v;
else
delete m.engine;
continue;
}
case 2: {
if (u !== 2)
break;
if ((v = r.stringVerify()).length)
m.storageDataFolder = v;
else
delete m.storageDataFolder;
continue;
}
case 3: {
if (u !== 0)
break;
if (v = r.bool())
m.allowAutoModelDownloading = v;
else
delete m.allowAutoModelDownloading;
continue;
}
case 4: {
if (u !== 2)
break;
if ((v = r.stringVerify()).length)
m.memoryKey = v;
else
delete m.memoryKey;
continue;
}
}
r.skipType(u, q, t);
if (!r.discardUnknown) {
$util.makeProp(m, "$unknowns", false);
(m.$unknowns || (m.$unknowns = [])).push(r.raw(s, r.pos));
}
}
if (l !== $undefined) {
if (r.pos !== c)
throw $RangeError("index out of range");
r.len = l;
}
if (z !== $undefined)
throw $Error("missing end group");
return m;
};
return ConfigureSessionRequest;
})();
v1.ConfigureSessionResponse = (function() {
var ConfigureSessionResponse = function (p) {
if (p)
for (var ks = $Object.keys(p), i = 0; i < ks.length; ++i)
if (p[ks[i]] != null && ks[i] !== "__proto__")
this[ks[i]] = p[ks[i]];
};
ConfigureSessionResponse.encode = function (m, w, q) {
if (!w)
w = $Writer.create();
if (q === $undefined)
q = 0;
if (q > $util.recursionLimit)
throw $Error("max depth exceeded");
if (m.$unknowns != null && $Object.hasOwnProperty.call(m, "$unknowns"))
for (var i = 0; i < m.$unknowns.length; ++i)
w.raw(m.$unknowns[i]);
return w;
};
ConfigureSessionResponse.decode = function (r, l, z, q, g) {
if (!(r instanceof $Reader))
r = $Reader.create(r);
if (q === $undefined)
q = 0;
if (q > $Reader.recursionLimit)
throw $Error("max depth exceeded");
var c, m;
if (l === $undefined)
c = r.len;
else {
c = r.pos + l;
if (c > r.len)
throw $RangeError("index out of range");
l = r.len;
r.len = c;
}
m = g || new $root.turngraph.v1.ConfigureSessionResponse();
while (r.pos < c) {
var s = r.pos;
var t = r.tag();
if (t === z) {
z = $undefined;
break;
}
r.skipType(t & 7, q, t);
if (!r.discardUnknown) {
$util.makeProp(m, "$unknowns", false);
(m.$unknowns || (m.$unknowns = [])).push(r.raw(s, r.pos));
}
}
if (l !== $undefined) {
if (r.pos !== c)
throw $RangeError("index out of range");
r.len = l;
}
if (z !== $undefined)
throw $Error("missing end group");
return m;
};
return ConfigureSessionResponse;
})();
v1.SetPaceRequest = (function() {
var SetPaceRequest = function (p) {
if (p)
for (var ks = $Object.keys(p), i = 0; i < ks.length; ++i)
if (p[ks[i]] != null && ks[i] !== "__proto__")
this[ks[i]] = p[ks[i]];
};
SetPaceRequest.prototype.paused = false;
SetPaceRequest.prototype.maxTokensPerSecond = 0;
SetPaceRequest.prototype.maxThreads = 0;
SetPaceRequest.encode = function (m, w, q) {
if (!w)
w = $Writer.create();
if (q === $undefined)
q = 0;
if (q > $util.recursionLimit)
throw $Error("max depth exceeded");
if (m.paused != null && $Object.hasOwnProperty.call(m, "paused") && m.paused !== false)
w.uint32(8).bool(m.paused);
if (m.maxTokensPerSecond != null && $Object.hasOwnProperty.call(m, "maxTokensPerSecond") && m.maxTokensPerSecond !== 0)
w.uint32(16).uint32(m.maxTokensPerSecond);
if (m.maxThreads != null && $Object.hasOwnProperty.call(m, "maxThreads") && m.maxThreads !== 0)
w.uint32(24).uint32(m.maxThreads);
if (m.$unknowns != null && $Object.hasOwnProperty.call(m, "$unknowns"))
for (var i = 0; i < m.$unknowns.length; ++i)
w.raw(m.$unknowns[i]);
return w;
};
SetPaceRequest.decode = function (r, l, z, q, g) {
if (!(r instanceof $Reader))
r = $Reader.create(r);
if (q === $undefined)
q = 0;
if (q > $Reader.recursionLimit)
throw $Error("max depth exceeded");
var c, m, v;
if (l === $undefined)
c = r.len;
else {
c = r.pos + l;
if (c > r.len)
throw $RangeError("index out of range");
l = r.len;
r.len = c;
}
m = g || new $root.turngraph.v1.SetPaceRequest();
while (r.pos < c) {
var s = r.pos;
var t = r.tag();
if (t === z) {
z = $undefined;
break;
}
var u = t & 7;
switch (t >>>= 3) {
case 1: {
if (u !== 0)
break;
if (v = r.bool())
m.paused = v;
else
delete m.paused;
continue;
}
case 2: {
if (u !== 0)
break;
if (v = r.uint32())
m.maxTokensPerSecond = v;
else
delete m.maxTokensPerSecond;
continue;
}
case 3: {
if (u !== 0)
break;
if (v = r.uint32())
m.maxThreads = v;
else
delete m.maxThreads;
continue;
}
}
r.skipType(u, q, t);
if (!r.discardUnknown) {
$util.makeProp(m, "$unknowns", false);
(m.$unknowns || (m.$unknowns = [])).push(r.raw(s, r.pos));
}
}
if (l !== $undefined) {
if (r.pos !== c)
throw $RangeError("index out of range");
r.len = l;
}
if (z !== $undefined)
throw $Error("missing end group");
return m;
};
return SetPaceRequest;
})();
v1.ReportFrameRequest = (function() {
var ReportFrameRequest = function (p) {
if (p)
for (var ks = $Object.keys(p), i = 0; i < ks.length; ++i)
if (p[ks[i]] != null && ks[i] !== "__proto__")
this[ks[i]] = p[ks[i]];
};
ReportFrameRequest.prototype.ms = 0;
ReportFrameRequest.prototype.targetMs = 0;
ReportFrameRequest.encode = function (m, w, q) {
if (!w)
w = $Writer.create();
if (q === $undefined)
q = 0;
if (q > $util.recursionLimit)
throw $Error("max depth exceeded");
if (m.ms != null && $Object.hasOwnProperty.call(m, "ms") && !$Object.is(m.ms, 0))
w.uint32(9).double(m.ms);
if (m.targetMs != null && $Object.hasOwnProperty.call(m, "targetMs") && !$Object.is(m.targetMs, 0))
w.uint32(17).double(m.targetMs);
if (m.$unknowns != null && $Object.hasOwnProperty.call(m, "$unknowns"))
for (var i = 0; i < m.$unknowns.length; ++i)
w.raw(m.$unknowns[i]);
return w;
};
ReportFrameRequest.decode = function (r, l, z, q, g) {
if (!(r instanceof $Reader))
r = $Reader.create(r);
if (q === $undefined)
q = 0;
if (q > $Reader.recursionLimit)
throw $Error("max depth exceeded");
var c, m, v;
if (l === $undefined)
c = r.len;
else {
c = r.pos + l;
if (c > r.len)
throw $RangeError("index out of range");
l = r.len;
r.len = c;
}
m = g || new $root.turngraph.v1.ReportFrameRequest();
while (r.pos < c) {
var s = r.pos;
var t = r.tag();
if (t === z) {
z = $undefined;
break;
}
var u = t & 7;
switch (t >>>= 3) {
case 1: {
if (u !== 1)
break;
if (!$Object.is(v = r.double(), 0))
m.ms = v;
else
delete m.ms;
continue;
}
case 2: {
if (u !== 1)
break;
if (!$Object.is(v = r.double(), 0))
m.targetMs = v;
else
delete m.targetMs;
continue;
}
}
r.skipType(u, q, t);
if (!r.discardUnknown) {
$util.makeProp(m, "$unknowns", false);
(m.$unknowns || (m.$unknowns = [])).push(r.raw(s, r.pos));
}
}
if (l !== $undefined) {
if (r.pos !== c)
throw $RangeError("index out of range");
r.len = l;
}
if (z !== $undefined)
throw $Error("missing end group");
return m;
};
return ReportFrameRequest;
})();
v1.ResumeSessionRequest = (function() {
var ResumeSessionRequest = function (p) {
if (p)
for (var ks = $Object.keys(p), i = 0; i < ks.length; ++i)
if (p[ks[i]] != null && ks[i] !== "__proto__")
this[ks[i]] = p[ks[i]];
};
ResumeSessionRequest.prototype.sessionId = "";
ResumeSessionRequest.prototype.resumeToken = "";
ResumeSessionRequest.prototype.lastSeq = 0;
ResumeSessionRequest.encode = function (m, w, q) {
if (!w)
w = $Writer.create();
if (q === $undefined)
q = 0;
if (q > $util.recursionLimit)
throw $Error("max depth exceeded");
if (m.sessionId != null && $Object.hasOwnProperty.call(m, "sessionId") && m.sessionId !== "")
w.uint32(10).string(m.sessionId);
if (m.resumeToken != null && $Object.hasOwnProperty.call(m, "resumeToken") && m.resumeToken !== "")
w.uint32(18).string(m.resumeToken);
if (m.lastSeq != null && $Object.hasOwnProperty.call(m, "lastSeq") && m.lastSeq !== 0)
w.uint32(24).uint32(m.lastSeq);
if (m.$unknowns != null && $Object.hasOwnProperty.call(m, "$unknowns"))
for (var i = 0; i < m.$unknowns.length; ++i)
w.raw(m.$unknowns[i]);
return w;
};
ResumeSessionRequest.decode = function (r, l, z, q, g) {
if (!(r instanceof $Reader))
r = $Reader.create(r);
if (q === $undefined)
q = 0;
if (q > $Reader.recursionLimit)
throw $Error("max depth exceeded");
var c, m, v;
if (l === $undefined)
c = r.len;
else {
c = r.pos + l;
if (c > r.len)
throw $RangeError("index out of range");
l = r.len;
r.len = c;
}
m = g || new $root.turngraph.v1.ResumeSessionRequest();
while (r.pos < c) {
var s = r.pos;
var t = r.tag();
if (t === z) {
z = $undefined;
break;
}
var u = t & 7;
switch (t >>>= 3) {
case 1: {
if (u !== 2)
break;
if ((v = r.stringVerify()).length)
m.sessionId = v;
else
delete m.sessionId;
continue;
}
case 2: {
if (u !== 2)
break;
if ((v = r.stringVerify()).length)
m.resumeToken = v;
else
delete m.resumeToken;
continue;
}
case 3: {
if (u !== 0)
break;
if (v = r.uint32())
m.lastSeq = v;
else
delete m.lastSeq;
continue;
}
}
r.skipType(u, q, t);
if (!r.discardUnknown) {
$util.makeProp(m, "$unknowns", false);
(m.$unknowns || (m.$unknowns = [])).push(r.raw(s, r.pos));
}
}
if (l !== $undefined) {
if (r.pos !== c)
throw $RangeError("index out of range");
r.len = l;
}
if (z !== $undefined)
throw $Error("missing end group");
return m;
};
return ResumeSessionRequest;
})();
v1.ResumeSessionResponse = (function() {
var ResumeSessionResponse = function (p) {
if (p)
for (var ks = $Object.keys(p), i = 0; i < ks.length; ++i)
if (p[ks[i]] != null && ks[i] !== "__proto__")
this[ks[i]] = p[ks[i]];
};
ResumeSessionResponse.prototype.replayed = 0;
ResumeSessionResponse.prototype.requestsReceived = 0;
ResumeSessionResponse.encode = function (m, w, q) {
if (!w)
w = $Writer.create();
if (q === $undefined)
q = 0;
if (q > $util.recursionLimit)
throw $Error("max depth exceeded");
if (m.replayed != null && $Object.hasOwnProperty.call(m, "replayed") && m.replayed !== 0)
w.uint32(8).uint32(m.replayed);
if (m.requestsReceived != null && $Object.hasOwnProperty.call(m, "requestsReceived") && m.requestsReceived !== 0)
w.uint32(16).uint32(m.requestsReceived);
if (m.$unknowns != null && $Object.hasOwnProperty.call(m, "$unknowns"))
for (var i = 0; i < m.$unknowns.length; ++i)
w.raw(m.$unknowns[i]);
return w;
};
ResumeSessionResponse.decode = function (r, l, z, q, g) {
if (!(r instanceof $Reader))
r = $Reader.create(r);
if (q === $undefined)
q = 0;
if (q > $Reader.recursionLimit)
throw $Error("max depth exceeded");
var c, m, v;
if (l === $undefined)
c = r.len;
else {
c = r.pos + l;
if (c > r.len)
throw $RangeError("index out of range");
l = r.len;
r.len = c;
}
m = g || new $root.turngraph.v1.ResumeSessionResponse();
while (r.pos < c) {
var s = r.pos;
var t = r.tag();
if (t === z) {
z = $undefined;
break;
}
var u = t & 7;
switch (t >>>= 3) {
case 1: {
if (u !== 0)
break;
if (v = r.uint32())
m.replayed = v;
else
delete m.replayed;
continue;
}
case 2: {
if (u !== 0)
break;
if (v = r.uint32())
m.requestsReceived = v;
else
delete m.requestsReceived;
continue;
}
}
r.skipType(u, q, t);
if (!r.discardUnknown) {
$util.makeProp(m, "$unknowns", false);
(m.$unknowns || (m.$unknowns = [])).push(r.raw(s, r.pos));
}
}
if (l !== $undefined) {
if (r.pos !== c)
throw $RangeError("index out of range");
r.len = l;
}
if (z !== $undefined)
throw $Error("missing end group");
return m;
};
return ResumeSessionResponse;
})();
v1.CreateAgentRequest = (function() {
var CreateAgentRequest = function (p) {
if (p)
for (var ks = $Object.keys(p), i = 0; i < ks.length; ++i)
if (p[ks[i]] != null && ks[i] !== "__proto__")
this[ks[i]] = p[ks[i]];
};
CreateAgentRequest.prototype.graphJson = null;
CreateAgentRequest.prototype.graphName = null;
CreateAgentRequest.prototype.defaultModelName = "";
CreateAgentRequest.prototype.enableDiagnostics = false;
CreateAgentRequest.prototype.maxStepsPerTurn = 0;
CreateAgentRequest.prototype.historyJson = "";
CreateAgentRequest.prototype.warmUp = false;
CreateAgentRequest.prototype.toolsJson = "";
var $oneOfFields;
$Object.defineProperty(CreateAgentRequest.prototype, "source", {
get: $util.oneOfGetter($oneOfFields = ["graphJson", "graphName"]),
set: $util.oneOfSetter($oneOfFields)
});
CreateAgentRequest.encode = function (m, w, q) {
if (!w)
w = $Writer.create();
if (q === $undefined)
q = 0;
if (q > $util.recursionLimit)
throw $Error("max depth exceeded");
if (m.graphJson != null && $Object.hasOwnProperty.call(m, "graphJson"))
w.uint32(10).string(m.graphJson);
if (m.graphName != null && $Object.hasOwnProperty.call(m, "graphName"))
w.uint32(18).string(m.graphName);
if (m.defaultModelName != null && $Object.hasOwnProperty.call(m, "defaultModelName") && m.defaultModelName !== "")
w.uint32(26).string(m.defaultModelName);
if (m.enableDiagnostics != null && $Object.hasOwnProperty.call(m, "enableDiagnostics") && m.enableDiagnostics !== false)
w.uint32(32).bool(m.enableDiagnostics);
if (m.maxStepsPerTurn != null && $Object.hasOwnProperty.call(m, "maxStepsPerTurn") && m.maxStepsPerTurn !== 0)
w.uint32(40).uint32(m.maxStepsPerTurn);
if (m.historyJson != null && $Object.hasOwnProperty.call(m, "historyJson") && m.historyJson !== "")
w.uint32(50).string(m.historyJson);
if (m.warmUp != null && $Object.hasOwnProperty.call(m, "warmUp") && m.warmUp !== false)
w.uint32(56).bool(m.warmUp);
if (m.toolsJson != null && $Object.hasOwnProperty.call(m, "toolsJson") && m.toolsJson !== "")
w.uint32(66).string(m.toolsJson);
if (m.$unknowns != null && $Object.hasOwnProperty.call(m, "$unknowns"))
for (var i = 0; i < m.$unknowns.length; ++i)
w.raw(m.$unknowns[i]);
return w;
};
CreateAgentRequest.decode = function (r, l, z, q, g) {
if (!(r instanceof $Reader))
r = $Reader.create(r);
if (q === $undefined)
q = 0;
if (q > $Reader.recursionLimit)
throw $Error("max depth exceeded");
var c, m, v;
if (l === $undefined)
c = r.len;
else {
c = r.pos + l;
if (c > r.len)
throw $RangeError("index out of range");
l = r.len;
r.len = c;
}
m = g || new $root.turngraph.v1.CreateAgentRequest();
while (r.pos < c) {
var s = r.pos;
var t = r.tag();
if (t === z) {
z = $undefined;
break;
}
var u = t & 7;
switch (t >>>= 3) {
case 1: {
if (u !== 2)
break;
m.graphJson = r.stringVerify();
continue;
}
case 2: {
if (u !== 2)
break;
m.graphName = r.stringVerify();
continue;
}
case 3: {
if (u !== 2)
break;
if ((v = r.stringVerify()).length)
m.defaultModelName = v;
else
delete m.defaultModelName;
continue;
}
case 4: {
if (u !== 0)
break;
if (v = r.bool())
m.enableDiagnostics = v;
else
delete m.enableDiagnostics;
continue;
}
case 5: {
if (u !== 0)
break;
if (v = r.uint32())
m.maxStepsPerTurn = v;
else
delete m.maxStepsPerTurn;
continue;
}
case 6: {
if (u !== 2)
break;
if ((v = r.stringVerify()).length)
m.historyJson = v;
else
delete m.historyJson;
continue;
}
case 7: {
if (u !== 0)
break;
if (v = r.bool())
m.warmUp = v;
else
delete m.warmUp;
continue;
}
case 8: {
if (u !== 2)
break;
if ((v = r.stringVerify()).length)
m.toolsJson = v;
else
delete m.toolsJson;
continue;
}
}
r.skipType(u, q, t);
if (!r.discardUnknown) {
$util.makeProp(m, "$unknowns", false);
(m.$unknowns || (m.$unknowns = [])).push(r.raw(s, r.pos));
}
}
if (l !== $undefined) {
if (r.pos !== c)
throw $RangeError("index out of range");
r.len = l;
}
if (z !== $undefined)
throw $Error("missing end group");
return m;
};
return CreateAgentRequest;
})();
v1.CreateAgentResponse = (function() {
var CreateAgentResponse = function (p) {
this.warnings = [];
if (p)
for (var ks = $Object.keys(p), i = 0; i < ks.length; ++i)
if (p[ks[i]] != null && ks[i] !== "__proto__")
this[ks[i]] = p[ks[i]];
};
CreateAgentResponse.prototype.agentId = 0;
CreateAgentResponse.prototype.warnings = $util.emptyArray;
CreateAgentResponse.encode = function (m, w, q) {
if (!w)
w = $Writer.create();
if (q === $undefined)
q = 0;
if (q > $util.recursionLimit)
throw $Error("max depth exceeded");
if (m.agentId != null && $Object.hasOwnProperty.call(m, "agentId") && m.agentId !== 0)
w.uint32(8).uint32(m.agentId);
if (m.warnings != null && m.warnings.length) {
for (var i = 0; i < m.warnings.length; ++i)
w.uint32(18).string(m.warnings[i]);
}
if (m.$unknowns != null && $Object.hasOwnProperty.call(m, "$unknowns"))
for (var i = 0; i < m.$unknowns.length; ++i)
w.raw(m.$unknowns[i]);
return w;
};
CreateAgentResponse.decode = function (r, l, z, q, g) {
if (!(r instanceof $Reader))
r = $Reader.create(r);
if (q === $undefined)
q = 0;
if (q > $Reader.recursionLimit)
throw $Error("max depth exceeded");
var c, m, v;
if (l === $undefined)
c = r.len;
else {
c = r.pos + l;
if (c > r.len)
throw $RangeError("index out of range");
l = r.len;
r.len = c;
}
m = g || new $root.turngraph.v1.CreateAgentResponse();
while (r.pos < c) {
var s = r.pos;
var t = r.tag();
if (t === z) {
z = $undefined;
break;
}
var u = t & 7;
switch (t >>>= 3) {
case 1: {
if (u !== 0)
break;
if (v = r.uint32())
m.agentId = v;
else
delete m.agentId;
continue;
}
case 2: {
if (u !== 2)
break;
if (!(m.warnings && m.warnings.length))
m.warnings = [];
m.warnings.push(r.stringVerify());
continue;
}
}
r.skipType(u, q, t);
if (!r.discardUnknown) {
$util.makeProp(m, "$unknowns", false);
(m.$unknowns || (m.$unknowns = [])).push(r.raw(s, r.pos));
}
}
if (l !== $undefined) {
if (r.pos !== c)
throw $RangeError("index out of range");
r.len = l;
}
if (z !== $undefined)
throw $Error("missing end group");
return m;
};
return CreateAgentResponse;
})();
v1.SendMessageRequest = (function() {
var SendMessageRequest = function (p) {
this.variables = {};
if (p)
for (var ks = $Object.keys(p), i = 0; i < ks.length; ++i)
if (p[ks[i]] != null && ks[i] !== "__proto__")
this[ks[i]] = p[ks[i]];
};
SendMessageRequest.prototype.agentId = 0;
SendMessageRequest.prototype.text = "";
SendMessageRequest.prototype.variables = $util.emptyObject;
SendMessageRequest.prototype.priority = 0;
SendMessageRequest.encode = function (m, w, q) {
if (!w)
w = $Writer.create();
if (q === $undefined)
q = 0;
if (q > $util.recursionLimit)
throw $Error("max depth exceeded");
if (m.agentId != null && $Object.hasOwnProperty.call(m, "agentId") && m.agentId !== 0)
w.uint32(8).uint32(m.agentId);
if (m.text != null && $Object.hasOwnProperty.call(m, "text") && m.text !== "")
w.uint32(18).string(m.text);
if (m.variables != null && $Object.hasOwnProperty.call(m, "variables")) {
for (var ks = $Object.keys(m.variables), i = 0; i < ks.length; ++i) {
w.uint32(26).fork().uint32(10).string(ks[i]).uint32(18).string(m.variables[ks[i]]).ldelim();
}
}
if (m.priority != null && $Object.hasOwnProperty.call(m, "priority") && m.priority !== 0)
w.uint32(32).int32(m.priority);
if (m.$unknowns != null && $Object.hasOwnProperty.call(m, "$unknowns"))
for (var i = 0; i < m.$unknowns.length; ++i)
w.raw(m.$unknowns[i]);
return w;
};
SendMessageRequest.decode = function (r, l, z, q, g) {
if (!(r instanceof $Reader))
r = $Reader.create(r);
if (q === $undefined)
q = 0;
if (q > $Reader.recursionLimit)
throw $Error("max depth exceeded");
var c, m, k, v;
if (l === $undefined)
c = r.len;
else {
c = r.pos + l;
if (c > r.len)
throw $RangeError("index out of range");
l = r.len;
r.len = c;
}
m = g || new $root.turngraph.v1.SendMessageRequest();
while (r.pos < c) {
var s = r.pos;
var t = r.tag();
if (t === z) {
z = $undefined;
break;
}
var u = t & 7;
switch (t >>>= 3) {
case 1: {
if (u !== 0)
break;
if (v = r.uint32())
m.agentId = v;
else
delete m.agentId;
continue;
}
case 2: {
if (u !== 2)
break;
if ((v = r.stringVerify()).length)
m.text = v;
else
delete m.text;
continue;
}
case 3: {
if (u !== 2)
break;
if (m.variables === $util.emptyObject)
m.variables = {};
var c2 = r.size() + r.pos;
if (c2 > r.len)
throw $RangeError("index out of range");
r.len = c2;
k = "";
v = "";
while (r.pos < c2) {
var t2 = r.tag();
u = t2 & 7;
switch (t2 >>>= 3) {
case 1:
if (u !== 2)
break;
k = r.stringVerify();
continue;
case 2:
if (u !== 2)
break;
v = r.stringVerify();
continue;
}
r.skipType(u, q, t2);
}
if (r.pos !== c2)
throw $RangeError("index out of range");
r.len = c;
if (k === "__proto__")
$util.makeProp(m.variables, k);
m.variables[k] = v;
continue;
}
case 4: {
if (u !== 0)
break;
if (v = r.int32())
m.priority = v;
else
delete m.priority;
continue;
}
}
r.skipType(u, q, t);
if (!r.discardUnknown) {
$util.makeProp(m, "$unknowns", false);
(m.$unknowns || (m.$unknowns = [])).push(r.raw(s, r.pos));
}
}
if (l !== $undefined) {
if (r.pos !== c)
throw $RangeError("index out of range");
r.len = l;
}
if (z !== $undefined)
throw $Error("missing end group");
return m;
};
SendMessageRequest.Priority = (function() {
var valuesById = $Object.create(null), values = $Object.create(valuesById);
values[valuesById[0] = "NORMAL"] = 0;
values[valuesById[1] = "BACKGROUND"] = 1;
values[valuesById[2] = "URGENT"] = 2;
return values;
})();
return SendMessageRequest;
})();
v1.CancelTurnRequest = (function() {
var CancelTurnRequest = function (p) {
if (p)
for (var ks = $Object.keys(p), i = 0; i < ks.length; ++i)
if (p[ks[i]] != null && ks[i] !== "__proto__")
this[ks[i]] = p[ks[i]];
};
CancelTurnRequest.prototype.agentId = 0;
CancelTurnRequest.prototype.turnId = 0;
CancelTurnRequest.encode = function (m, w, q) {
if (!w)
w = $Writer.create();
if (q === $undefined)
q = 0;
if (q > $util.recursionLimit)
throw $Error("max depth exceeded");
if (m.agentId != null && $Object.hasOwnProperty.call(m, "agentId") && m.agentId !== 0)
w.uint32(8).uint32(m.agentId);
if (m.turnId != null && $Object.hasOwnProperty.call(m, "turnId") && m.turnId !== 0)
w.uint32(16).uint32(m.turnId);
if (m.$unknowns != null && $Object.hasOwnProperty.call(m, "$unknowns"))
for (var i = 0; i < m.$unknowns.length; ++i)
w.raw(m.$unknowns[i]);
return w;
};
CancelTurnRequest.decode = function (r, l, z, q, g) {
if (!(r instanceof $Reader))
r = $Reader.create(r);
if (q === $undefined)
q = 0;
if (q > $Reader.recursionLimit)
throw $Error("max depth exceeded");
var c, m, v;
if (l === $undefined)
c = r.len;
else {
c = r.pos + l;
if (c > r.len)
throw $RangeError("index out of range");
l = r.len;
r.len = c;
}
m = g || new $root.turngraph.v1.CancelTurnRequest();
while (r.pos < c) {
var s = r.pos;
var t = r.tag();
if (t === z) {
z = $undefined;
break;
}
var u = t & 7;
switch (t >>>= 3) {
case 1: {
if (u !== 0)
break;
if (v = r.uint32())
m.agentId = v;
else
delete m.agentId;
continue;
}
case 2: {
if (u !== 0)
break;
if (v = r.uint32())
m.turnId = v;
else
delete m.turnId;
continue;
}
}
r.skipType(u, q, t);
if (!r.discardUnknown) {
$util.makeProp(m, "$unknowns", false);
(m.$unknowns || (m.$unknowns = [])).push(r.raw(s, r.pos));
}
}
if (l !== $undefined) {
if (r.pos !== c)
throw $RangeError("index out of range");
r.len = l;
}
if (z !== $undefined)
throw $Error("missing end group");
return m;
};
return CancelTurnRequest;
})();
v1.AgentMode = (function() {
var valuesById = $Object.create(null), values = $Object.create(valuesById);
values[valuesById[0] = "AUTO"] = 0;
values[valuesById[1] = "MANUAL"] = 1;
return values;
})();
v1.ToolControl = (function() {
var ToolControl = function (p) {
if (p)
for (var ks = $Object.keys(p), i = 0; i < ks.length; ++i)
if (p[ks[i]] != null && ks[i] !== "__proto__")
this[ks[i]] = p[ks[i]];
};
ToolControl.prototype.mode = 0;
ToolControl.prototype.endTurn = false;
ToolControl.prototype.answer = "";
ToolControl.encode = function (m, w, q) {
if (!w)
w = $Writer.create();
if (q === $undefined)
q = 0;
if (q > $util.recursionLimit)
throw $Error("max depth exceeded");
if (m.mode != null && $Object.hasOwnProperty.call(m, "mode") && m.mode !== 0)
w.uint32(8).int32(m.mode);
if (m.endTurn != null && $Object.hasOwnProperty.call(m, "endTurn") && m.endTurn !== false)
w.uint32(16).bool(m.endTurn);
if (m.answer != null && $Object.hasOwnProperty.call(m, "answer") && m.answer !== "")
w.uint32(26).string(m.answer);
if (m.$unknowns != null && $Object.hasOwnProperty.call(m, "$unknowns"))
for (var i = 0; i < m.$unknowns.length; ++i)
w.raw(m.$unknowns[i]);
return w;
};
ToolControl.decode = function (r, l, z, q, g) {
if (!(r instanceof $Reader))
r = $Reader.create(r);
if (q === $undefined)
q = 0;
if (q > $Reader.recursionLimit)
throw $Error("max depth exceeded");
var c, m, v;
if (l === $undefined)
c = r.len;
else {
c = r.pos + l;
if (c > r.len)
throw $RangeError("index out of range");
l = r.len;
r.len = c;
}
m = g || new $root.turngraph.v1.ToolControl();
while (r.pos < c) {
var s = r.pos;
var t = r.tag();
if (t === z) {
z = $undefined;
break;
}
var u = t & 7;
switch (t >>>= 3) {
case 1: {
if (u !== 0)
break;
if (v = r.int32())
m.mode = v;
else
delete m.mode;
continue;
}
case 2: {
if (u !== 0)
break;
if (v = r.bool())
m.endTurn = v;
else
delete m.endTurn;
continue;
}
case 3: {
if (u !== 2)
break;
if ((v = r.stringVerify()).length)
m.answer = v;
else
delete m.answer;
continue;
}
}
r.skipType(u, q, t);
if (!r.discardUnknown) {
$util.makeProp(m, "$unknowns", false);
(m.$unknowns || (m.$unknowns = [])).push(r.raw(s, r.pos));
}
}
if (l !== $undefined) {
if (r.pos !== c)
throw $RangeError("index out of range");
r.len = l;
}
if (z !== $undefined)
throw $Error("missing end group");
return m;
};
ToolControl.Mode = (function() {
var valuesById = $Object.create(null), values = $Object.create(valuesById);
values[valuesById[0] = "UNCHANGED"] = 0;
values[valuesById[1] = "AUTO"] = 1;
values[valuesById[2] = "MANUAL"] = 2;
return values;
})();
return ToolControl;
})();
v1.ToolResult = (function() {
var ToolResult = function (p) {
if (p)
for (var ks = $Object.keys(p), i = 0; i < ks.length; ++i)
if (p[ks[i]] != null && ks[i] !== "__proto__")
this[ks[i]] = p[ks[i]];
};
ToolResult.prototype.callId = "";
ToolResult.prototype.ok = false;
ToolResult.prototype.content = "";
ToolResult.prototype.lifespan = 0;
ToolResult.prototype.metadataJson = "";
ToolResult.prototype.control = null;
ToolResult.encode = function (m, w, q) {
if (!w)
w = $Writer.create();
if (q === $undefined)
q = 0;
if (q > $util.recursionLimit)
throw $Error("max depth exceeded");
if (m.callId != null && $Object.hasOwnProperty.call(m, "callId") && m.callId !== "")
w.uint32(10).string(m.callId);
if (m.ok != null && $Object.hasOwnProperty.call(m, "ok") && m.ok !== false)
w.uint32(16).bool(m.ok);
if (m.content != null && $Object.hasOwnProperty.call(m, "content") && m.content !== "")
w.uint32(26).string(m.content);
if (m.lifespan != null && $Object.hasOwnProperty.call(m, "lifespan") && m.lifespan !== 0)
w.uint32(32).int32(m.lifespan);
if (m.metadataJson != null && $Object.hasOwnProperty.call(m, "metadataJson") && m.metadataJson !== "")
w.uint32(42).string(m.metadataJson);
if (m.control != null && $Object.hasOwnProperty.call(m, "control"))
$root.turngraph.v1.ToolControl.encode(m.control, w.uint32(50).fork(), q + 1).ldelim();
if (m.$unknowns != null && $Object.hasOwnProperty.call(m, "$unknowns"))
for (var i = 0; i < m.$unknowns.length; ++i)
w.raw(m.$unknowns[i]);
return w;
};
ToolResult.decode = function (r, l, z, q, g) {
if (!(r instanceof $Reader))
r = $Reader.create(r);
if (q === $undefined)
q = 0;
if (q > $Reader.recursionLimit)
throw $Error("max depth exceeded");
var c, m, v;
if (l === $undefined)
c = r.len;
else {
c = r.pos + l;
if (c > r.len)
throw $RangeError("index out of range");
l = r.len;
r.len = c;
}
m = g || new $root.turngraph.v1.ToolResult();
while (r.pos < c) {
var s = r.pos;
var t = r.tag();
if (t === z) {
z = $undefined;
break;
}
var u = t & 7;
switch (t >>>= 3) {
case 1: {
if (u !== 2)
break;
if ((v = r.stringVerify()).length)
m.callId = v;
else
delete m.callId;
continue;
}
case 2: {
if (u !== 0)
break;
if (v = r.bool())
m.ok = v;
else
delete m.ok;
continue;
}
case 3: {
if (u !== 2)
break;
if ((v = r.stringVerify()).length)
m.content = v;
else
delete m.content;
continue;
}
case 4: {
if (u !== 0)
break;
if (v = r.int32())
m.lifespan = v;
else
delete m.lifespan;
continue;
}
case 5: {
if (u !== 2)
break;
if ((v = r.stringVerify()).length)
m.metadataJson = v;
else
delete m.metadataJson;
continue;
}
case 6: {
if (u !== 2)
break;
m.control = $root.turngraph.v1.ToolControl.decode(r, r.size(), $undefined, q + 1, m.control);
continue;
}
}
r.skipType(u, q, t);
if (!r.discardUnknown) {
$util.makeProp(m, "$unknowns", false);
(m.$unknowns || (m.$unknowns = [])).push(r.raw(s, r.pos));
}
}
if (l !== $undefined) {
if (r.pos !== c)
throw $RangeError("index out of range");
r.len = l;
}
if (z !== $undefined)
throw $Error("missing end group");
return m;
};
ToolResult.Lifespan = (function() {
var valuesById = $Object.create(null), values = $Object.create(valuesById);
values[valuesById[0] = "TURN"] = 0;
values[valuesById[1] = "DIALOG"] = 1;
return values;
})();
return ToolResult;
})();
v1.ResultMetadata = (function() {
var ResultMetadata = function (p) {
if (p)
for (var ks = $Object.keys(p), i = 0; i < ks.length; ++i)
if (p[ks[i]] != null && ks[i] !== "__proto__")
this[ks[i]] = p[ks[i]];
};
ResultMetadata.prototype.callId = "";
ResultMetadata.prototype.toolName = "";
ResultMetadata.prototype.metadataJson = "";
ResultMetadata.encode = function (m, w, q) {
if (!w)
w = $Writer.create();
if (q === $undefined)
q = 0;
if (q > $util.recursionLimit)
throw $Error("max depth exceeded");
if (m.callId != null && $Object.hasOwnProperty.call(m, "callId") && m.callId !== "")
w.uint32(10).string(m.callId);
if (m.toolName != null && $Object.hasOwnProperty.call(m, "toolName") && m.toolName !== "")
w.uint32(18).string(m.toolName);
if (m.metadataJson != null && $Object.hasOwnProperty.call(m, "metadataJson") && m.metadataJson !== "")
w.uint32(26).string(m.metadataJson);
if (m.$unknowns != null && $Object.hasOwnProperty.call(m, "$unknowns"))
for (var i = 0; i < m.$unknowns.length; ++i)
w.raw(m.$unknowns[i]);
return w;
};
ResultMetadata.decode = function (r, l, z, q, g) {
if (!(r instanceof $Reader))
r = $Reader.create(r);
if (q === $undefined)
q = 0;
if (q > $Reader.recursionLimit)
throw $Error("max depth exceeded");
var c, m, v;
if (l === $undefined)
c = r.len;
else {
c = r.pos + l;
if (c > r.len)
throw $RangeError("index out of range");
l = r.len;
r.len = c;
}
m = g || new $root.turngraph.v1.ResultMetadata();
while (r.pos < c) {
var s = r.pos;
var t = r.tag();
if (t === z) {
z = $undefined;
break;
}
var u = t & 7;
switch (t >>>= 3) {
case 1: {
if (u !== 2)
break;
if ((v = r.stringVerify()).length)
m.callId = v;
else
delete m.callId;
continue;
}
case 2: {
if (u !== 2)
break;
if ((v = r.stringVerify()).length)
m.toolName = v;
else
delete m.toolName;
continue;
}
case 3: {
if (u !== 2)
break;
if ((v = r.stringVerify()).length)
m.metadataJson = v;
else
delete m.metadataJson;
continue;
}
}
r.skipType(u, q, t);
if (!r.discardUnknown) {
$util.makeProp(m, "$unknowns", false);
(m.$unknowns || (m.$unknowns = [])).push(r.raw(s, r.pos));
}
}
if (l !== $undefined) {
if (r.pos !== c)
throw $RangeError("index out of range");
r.len = l;
}
if (z !== $undefined)
throw $Error("missing end group");
return m;
};
return ResultMetadata;
})();
v1.SubmitToolResultsRequest = (function() {
var SubmitToolResultsRequest = function (p) {
this.results = [];
if (p)
for (var ks = $Object.keys(p), i = 0; i < ks.length; ++i)
if (p[ks[i]] != null && ks[i] !== "__proto__")
this[ks[i]] = p[ks[i]];
};
SubmitToolResultsRequest.prototype.agentId = 0;
SubmitToolResultsRequest.prototype.turnId = 0;
SubmitToolResultsRequest.prototype.results = $util.emptyArray;
SubmitToolResultsRequest.encode = function (m, w, q) {
if (!w)
w = $Writer.create();
if (q === $undefined)
q = 0;
if (q > $util.recursionLimit)
throw $Error("max depth exceeded");
if (m.agentId != null && $Object.hasOwnProperty.call(m, "agentId") && m.agentId !== 0)
w.uint32(8).uint32(m.agentId);
if (m.turnId != null && $Object.hasOwnProperty.call(m, "turnId") && m.turnId !== 0)
w.uint32(16).uint32(m.turnId);
if (m.results != null && m.results.length) {
for (var i = 0; i < m.results.length; ++i)
$root.turngraph.v1.ToolResult.encode(m.results[i], w.uint32(26).fork(), q + 1).ldelim();
}
if (m.$unknowns != null && $Object.hasOwnProperty.call(m, "$unknowns"))
for (var i = 0; i < m.$unknowns.length; ++i)
w.raw(m.$unknowns[i]);
return w;
};
SubmitToolResultsRequest.decode = function (r, l, z, q, g) {
if (!(r instanceof $Reader))
r = $Reader.create(r);
if (q === $undefined)
q = 0;
if (q > $Reader.recursionLimit)
throw $Error("max depth exceeded");
var c, m, v;
if (l === $undefined)
c = r.len;
else {
c = r.pos + l;
if (c > r.len)
throw $RangeError("index out of range");
l = r.len;
r.len = c;
}
m = g || new $root.turngraph.v1.SubmitToolResultsRequest();
while (r.pos < c) {
var s = r.pos;
var t = r.tag();
if (t === z) {
z = $undefined;
break;
}
var u = t & 7;
switch (t >>>= 3) {
case 1: {
if (u !== 0)
break;
if (v = r.uint32())
m.agentId = v;
else
delete m.agentId;
continue;
}
case 2: {
if (u !== 0)
break;
if (v = r.uint32())
m.turnId = v;
else
delete m.turnId;
continue;
}
case 3: {
if (u !== 2)
break;
if (!(m.results && m.results.length))
m.results = [];
m.results.push($root.turngraph.v1.ToolResult.decode(r, r.size(), $undefined, q + 1));
continue;
}
}
r.skipType(u, q, t);
if (!r.discardUnknown) {
$util.makeProp(m, "$unknowns", false);
(m.$unknowns || (m.$unknowns = [])).push(r.raw(s, r.pos));
}
}
if (l !== $undefined) {
if (r.pos !== c)
throw $RangeError("index out of range");
r.len = l;
}
if (z !== $undefined)
throw $Error("missing end group");
return m;
};
return SubmitToolResultsRequest;
})();
v1.ChangeParamsRequest = (function() {
var ChangeParamsRequest = function (p) {
if (p)
for (var ks = $Object.keys(p), i = 0; i < ks.length; ++i)
if (p[ks[i]] != null && ks[i] !== "__proto__")
this[ks[i]] = p[ks[i]];
};
ChangeParamsRequest.prototype.agentId = 0;
ChangeParamsRequest.prototype.nodeName = "";
ChangeParamsRequest.prototype.paramsJson = "";
ChangeParamsRequest.encode = function (m, w, q) {
if (!w)
w = $Writer.create();
if (q === $undefined)
q = 0;
if (q > $util.recursionLimit)
throw $Error("max depth exceeded");
if (m.agentId != null && $Object.hasOwnProperty.call(m, "agentId") && m.agentId !== 0)
w.uint32(8).uint32(m.agentId);
if (m.nodeName != null && $Object.hasOwnProperty.call(m, "nodeName") && m.nodeName !== "")
w.uint32(18).string(m.nodeName);
if (m.paramsJson != null && $Object.hasOwnProperty.call(m, "paramsJson") && m.paramsJson !== "")
w.uint32(26).string(m.paramsJson);
if (m.$unknowns != null && $Object.hasOwnProperty.call(m, "$unknowns"))
for (var i = 0; i < m.$unknowns.length; ++i)
w.raw(m.$unknowns[i]);
return w;
};
ChangeParamsRequest.decode = function (r, l, z, q, g) {
if (!(r instanceof $Reader))
r = $Reader.create(r);
if (q === $undefined)
q = 0;
if (q > $Reader.recursionLimit)
throw $Error("max depth exceeded");
var c, m, v;
if (l === $undefined)
c = r.len;
else {
c = r.pos + l;
if (c > r.len)
throw $RangeError("index out of range");
l = r.len;
r.len = c;
}
m = g || new $root.turngraph.v1.ChangeParamsRequest();
while (r.pos < c) {
var s = r.pos;
var t = r.tag();
if (t === z) {
z = $undefined;
break;
}
var u = t & 7;
switch (t >>>= 3) {
case 1: {
if (u !== 0)
break;
if (v = r.uint32())
m.agentId = v;
else
delete m.agentId;
continue;
}
case 2: {
if (u !== 2)
break;
if ((v = r.stringVerify()).length)
m.nodeName = v;
else
delete m.nodeName;
continue;
}
case 3: {
if (u !== 2)
break;
if ((v = r.stringVerify()).length)
m.paramsJson = v;
else
delete m.paramsJson;
continue;
}
}
r.skipType(u, q, t);
if (!r.discardUnknown) {
$util.makeProp(m, "$unknowns", false);
(m.$unknowns || (m.$unknowns = [])).push(r.raw(s, r.pos));
}
}
if (l !== $undefined) {
if (r.pos !== c)
throw $RangeError("index out of range");
r.len = l;
}
if (z !== $undefined)
throw $Error("missing end group");
return m;
};
return ChangeParamsRequest;
})();
v1.ExportDialogRequest = (function() {
var ExportDialogRequest = function (p) {
if (p)
for (var ks = $Object.keys(p), i = 0; i < ks.length; ++i)
if (p[ks[i]] != null && ks[i] !== "__proto__")
this[ks[i]] = p[ks[i]];
};
ExportDialogRequest.prototype.agentId = 0;
ExportDialogRequest.encode = function (m, w, q) {
if (!w)
w = $Writer.create();
if (q === $undefined)
q = 0;
if (q > $util.recursionLimit)
throw $Error("max depth exceeded");
if (m.agentId != null && $Object.hasOwnProperty.call(m, "agentId") && m.agentId !== 0)
w.uint32(8).uint32(m.agentId);
if (m.$unknowns != null && $Object.hasOwnProperty.call(m, "$unknowns"))
for (var i = 0; i < m.$unknowns.length; ++i)
w.raw(m.$unknowns[i]);
return w;
};
ExportDialogRequest.decode = function (r, l, z, q, g) {
if (!(r instanceof $Reader))
r = $Reader.create(r);
if (q === $undefined)
q = 0;
if (q > $Reader.recursionLimit)
throw $Error("max depth exceeded");
var c, m, v;
if (l === $undefined)
c = r.len;
else {
c = r.pos + l;
if (c > r.len)
throw $RangeError("index out of range");
l = r.len;
r.len = c;
}
m = g || new $root.turngraph.v1.ExportDialogRequest();
while (r.pos < c) {
var s = r.pos;
var t = r.tag();
if (t === z) {
z = $undefined;
break;
}
var u = t & 7;
switch (t >>>= 3) {
case 1: {
if (u !== 0)
break;
if (v = r.uint32())
m.agentId = v;
else
delete m.agentId;
continue;
}
}
r.skipType(u, q, t);
if (!r.discardUnknown) {
$util.makeProp(m, "$unknowns", false);
(m.$unknowns || (m.$unknowns = [])).push(r.raw(s, r.pos));
}
}
if (l !== $undefined) {
if (r.pos !== c)
throw $RangeError("index out of range");
r.len = l;
}
if (z !== $undefined)
throw $Error("missing end group");
return m;
};
return ExportDialogRequest;
})();
v1.ExportDialogResponse = (function() {
var ExportDialogResponse = function (p) {
if (p)
for (var ks = $Object.keys(p), i = 0; i < ks.length; ++i)
if (p[ks[i]] != null && ks[i] !== "__proto__")
this[ks[i]] = p[ks[i]];
};
ExportDialogResponse.prototype.part = 0;
ExportDialogResponse.prototype.of = 0;
ExportDialogResponse.prototype.historyJson = "";
ExportDialogResponse.encode = function (m, w, q) {
if (!w)
w = $Writer.create();
if (q === $undefined)
q = 0;
if (q > $util.recursionLimit)
throw $Error("max depth exceeded");
if (m.part != null && $Object.hasOwnProperty.call(m, "part") && m.part !== 0)
w.uint32(8).uint32(m.part);
if (m.of != null && $Object.hasOwnProperty.call(m, "of") && m.of !== 0)
w.uint32(16).uint32(m.of);
if (m.historyJson != null && $Object.hasOwnProperty.call(m, "historyJson") && m.historyJson !== "")
w.uint32(26).string(m.historyJson);
if (m.$unknowns != null && $Object.hasOwnProperty.call(m, "$unknowns"))
for (var i = 0; i < m.$unknowns.length; ++i)
w.raw(m.$unknowns[i]);
return w;
};
ExportDialogResponse.decode = function (r, l, z, q, g) {
if (!(r instanceof $Reader))
r = $Reader.create(r);
if (q === $undefined)
q = 0;
if (q > $Reader.recursionLimit)
throw $Error("max depth exceeded");
var c, m, v;
if (l === $undefined)
c = r.len;
else {
c = r.pos + l;
if (c > r.len)
throw $RangeError("index out of range");
l = r.len;
r.len = c;
}
m = g || new $root.turngraph.v1.ExportDialogResponse();
while (r.pos < c) {
var s = r.pos;
var t = r.tag();
if (t === z) {
z = $undefined;
break;
}
var u = t & 7;
switch (t >>>= 3) {
case 1: {
if (u !== 0)
break;
if (v = r.uint32())
m.part = v;
else
delete m.part;
continue;
}
case 2: {
if (u !== 0)
break;
if (v = r.uint32())
m.of = v;
else
delete m.of;
continue;
}
case 3: {
if (u !== 2)
break;
if ((v = r.stringVerify()).length)
m.historyJson = v;
else
delete m.historyJson;
continue;
}
}
r.skipType(u, q, t);
if (!r.discardUnknown) {
$util.makeProp(m, "$unknowns", false);
(m.$unknowns || (m.$unknowns = [])).push(r.raw(s, r.pos));
}
}
if (l !== $undefined) {
if (r.pos !== c)
throw $RangeError("index out of range");
r.len = l;
}
if (z !== $undefined)
throw $Error("missing end group");
return m;
};
return ExportDialogResponse;
})();
v1.AppendDialogRequest = (function() {
var AppendDialogRequest = function (p) {
if (p)
for (var ks = $Object.keys(p), i = 0; i < ks.length; ++i)
if (p[ks[i]] != null && ks[i] !== "__proto__")
this[ks[i]] = p[ks[i]];
};
AppendDialogRequest.prototype.agentId = 0;
AppendDialogRequest.prototype.user = "";
AppendDialogRequest.prototype.assistant = "";
AppendDialogRequest.encode = function (m, w, q) {
if (!w)
w = $Writer.create();
if (q === $undefined)
q = 0;
if (q > $util.recursionLimit)
throw $Error("max depth exceeded");
if (m.agentId != null && $Object.hasOwnProperty.call(m, "agentId") && m.agentId !== 0)
w.uint32(8).uint32(m.agentId);
if (m.user != null && $Object.hasOwnProperty.call(m, "user") && m.user !== "")
w.uint32(18).string(m.user);
if (m.assistant != null && $Object.hasOwnProperty.call(m, "assistant") && m.assistant !== "")
w.uint32(26).string(m.assistant);
if (m.$unknowns != null && $Object.hasOwnProperty.call(m, "$unknowns"))
for (var i = 0; i < m.$unknowns.length; ++i)
w.raw(m.$unknowns[i]);
return w;
};
AppendDialogRequest.decode = function (r, l, z, q, g) {
if (!(r instanceof $Reader))
r = $Reader.create(r);
if (q === $undefined)
q = 0;
if (q > $Reader.recursionLimit)
throw $Error("max depth exceeded");
var c, m, v;
if (l === $undefined)
c = r.len;
else {
c = r.pos + l;
if (c > r.len)
throw $RangeError("index out of range");
l = r.len;
r.len = c;
}
m = g || new $root.turngraph.v1.AppendDialogRequest();
while (r.pos < c) {
var s = r.pos;
var t = r.tag();
if (t === z) {
z = $undefined;
break;
}
var u = t & 7;
switch (t >>>= 3) {
case 1: {
if (u !== 0)
break;
if (v = r.uint32())
m.agentId = v;
else
delete m.agentId;
continue;
}
case 2: {
if (u !== 2)
break;
if ((v = r.stringVerify()).length)
m.user = v;
else
delete m.user;
continue;
}
case 3: {
if (u !== 2)
break;
if ((v = r.stringVerify()).length)
m.assistant = v;
else
delete m.assistant;
continue;
}
}
r.skipType(u, q, t);
if (!r.discardUnknown) {
$util.makeProp(m, "$unknowns", false);
(m.$unknowns || (m.$unknowns = [])).push(r.raw(s, r.pos));
}
}
if (l !== $undefined) {
if (r.pos !== c)
throw $RangeError("index out of range");
r.len = l;
}
if (z !== $undefined)
throw $Error("missing end group");
return m;
};
return AppendDialogRequest;
})();
v1.AppendTextRequest = (function() {
var AppendTextRequest = function (p) {
if (p)
for (var ks = $Object.keys(p), i = 0; i < ks.length; ++i)
if (p[ks[i]] != null && ks[i] !== "__proto__")
this[ks[i]] = p[ks[i]];
};
AppendTextRequest.prototype.agentId = 0;
AppendTextRequest.prototype.text = "";
AppendTextRequest.prototype.role = "";
AppendTextRequest.prototype.notify = false;
AppendTextRequest.encode = function (m, w, q) {
if (!w)
w = $Writer.create();
if (q === $undefined)
q = 0;
if (q > $util.recursionLimit)
throw $Error("max depth exceeded");
if (m.agentId != null && $Object.hasOwnProperty.call(m, "agentId") && m.agentId !== 0)
w.uint32(8).uint32(m.agentId);
if (m.text != null && $Object.hasOwnProperty.call(m, "text") && m.text !== "")
w.uint32(18).string(m.text);
if (m.role != null && $Object.hasOwnProperty.call(m, "role") && m.role !== "")
w.uint32(26).string(m.role);
if (m.notify != null && $Object.hasOwnProperty.call(m, "notify") && m.notify !== false)
w.uint32(32).bool(m.notify);
if (m.$unknowns != null && $Object.hasOwnProperty.call(m, "$unknowns"))
for (var i = 0; i < m.$unknowns.length; ++i)
w.raw(m.$unknowns[i]);
return w;
};
AppendTextRequest.decode = function (r, l, z, q, g) {
if (!(r instanceof $Reader))
r = $Reader.create(r);
if (q === $undefined)
q = 0;
if (q > $Reader.recursionLimit)
throw $Error("max depth exceeded");
var c, m, v;
if (l === $undefined)
c = r.len;
else {
c = r.pos + l;
if (c > r.len)
throw $RangeError("index out of range");
l = r.len;
r.len = c;
}
m = g || new $root.turngraph.v1.AppendTextRequest();
while (r.pos < c) {
var s = r.pos;
var t = r.tag();
if (t === z) {
z = $undefined;
break;
}
var u = t & 7;
switch (t >>>= 3) {
case 1: {
if (u !== 0)
break;
if (v = r.uint32())
m.agentId = v;
else
delete m.agentId;
continue;
}
case 2: {
if (u !== 2)
break;
if ((v = r.stringVerify()).length)
m.text = v;
else
delete m.text;
continue;
}
case 3: {
if (u !== 2)
break;
if ((v = r.stringVerify()).length)
m.role = v;
else
delete m.role;
continue;
}
case 4: {
if (u !== 0)
break;
if (v = r.bool())
m.notify = v;
else
delete m.notify;
continue;
}
}
r.skipType(u, q, t);
if (!r.discardUnknown) {
$util.makeProp(m, "$unknowns", false);
(m.$unknowns || (m.$unknowns = [])).push(r.raw(s, r.pos));
}
}
if (l !== $undefined) {
if (r.pos !== c)
throw $RangeError("index out of range");
r.len = l;
}
if (z !== $undefined)
throw $Error("missing end group");
return m;
};
return AppendTextRequest;
})();
v1.SetAgentModeRequest = (function() {
var SetAgentModeRequest = function (p) {
if (p)
for (var ks = $Object.keys(p), i = 0; i < ks.length; ++i)
if (p[ks[i]] != null && ks[i] !== "__proto__")
this[ks[i]] = p[ks[i]];
};
SetAgentModeRequest.prototype.agentId = 0;
SetAgentModeRequest.prototype.mode = 0;
SetAgentModeRequest.encode = function (m, w, q) {
if (!w)
w = $Writer.create();
if (q === $undefined)
q = 0;
if (q > $util.recursionLimit)
throw $Error("max depth exceeded");
if (m.agentId != null && $Object.hasOwnProperty.call(m, "agentId") && m.agentId !== 0)
w.uint32(8).uint32(m.agentId);
if (m.mode != null && $Object.hasOwnProperty.call(m, "mode") && m.mode !== 0)
w.uint32(16).int32(m.mode);
if (m.$unknowns != null && $Object.hasOwnProperty.call(m, "$unknowns"))
for (var i = 0; i < m.$unknowns.length; ++i)
w.raw(m.$unknowns[i]);
return w;
};
SetAgentModeRequest.decode = function (r, l, z, q, g) {
if (!(r instanceof $Reader))
r = $Reader.create(r);
if (q === $undefined)
q = 0;
if (q > $Reader.recursionLimit)
throw $Error("max depth exceeded");
var c, m, v;
if (l === $undefined)
c = r.len;
else {
c = r.pos + l;
if (c > r.len)
throw $RangeError("index out of range");
l = r.len;
r.len = c;
}
m = g || new $root.turngraph.v1.SetAgentModeRequest();
while (r.pos < c) {
var s = r.pos;
var t = r.tag();
if (t === z) {
z = $undefined;
break;
}
var u = t & 7;
switch (t >>>= 3) {
case 1: {
if (u !== 0)
break;
if (v = r.uint32())
m.agentId = v;
else
delete m.agentId;
continue;
}
case 2: {
if (u !== 0)
break;
if (v = r.int32())
m.mode = v;
else
delete m.mode;
continue;
}
}
r.skipType(u, q, t);
if (!r.discardUnknown) {
$util.makeProp(m, "$unknowns", false);
(m.$unknowns || (m.$unknowns = [])).push(r.raw(s, r.pos));
}
}
if (l !== $undefined) {
if (r.pos !== c)
throw $RangeError("index out of range");
r.len = l;
}
if (z !== $undefined)
throw $Error("missing end group");
return m;
};
return SetAgentModeRequest;
})();
v1.SetVariablesRequest = (function() {
var SetVariablesRequest = function (p) {
if (p)
for (var ks = $Object.keys(p), i = 0; i < ks.length; ++i)
if (p[ks[i]] != null && ks[i] !== "__proto__")
this[ks[i]] = p[ks[i]];
};
SetVariablesRequest.prototype.agentId = 0;
SetVariablesRequest.prototype.variablesJson = "";
SetVariablesRequest.encode = function (m, w, q) {
if (!w)
w = $Writer.create();
if (q === $undefined)
q = 0;
if (q > $util.recursionLimit)
throw $Error("max depth exceeded");
if (m.agentId != null && $Object.hasOwnProperty.call(m, "agentId") && m.agentId !== 0)
w.uint32(8).uint32(m.agentId);
if (m.variablesJson != null && $Object.hasOwnProperty.call(m, "variablesJson") && m.variablesJson !== "")
w.uint32(18).string(m.variablesJson);
if (m.$unknowns != null && $Object.hasOwnProperty.call(m, "$unknowns"))
for (var i = 0; i < m.$unknowns.length; ++i)
w.raw(m.$unknowns[i]);
return w;
};
SetVariablesRequest.decode = function (r, l, z, q, g) {
if (!(r instanceof $Reader))
r = $Reader.create(r);
if (q === $undefined)
q = 0;
if (q > $Reader.recursionLimit)
throw $Error("max depth exceeded");
var c, m, v;
if (l === $undefined)
c = r.len;
else {
c = r.pos + l;
if (c > r.len)
throw $RangeError("index out of range");
l = r.len;
r.len = c;
}
m = g || new $root.turngraph.v1.SetVariablesRequest();
while (r.pos < c) {
var s = r.pos;
var t = r.tag();
if (t === z) {
z = $undefined;
break;
}
var u = t & 7;
switch (t >>>= 3) {
case 1: {
if (u !== 0)
break;
if (v = r.uint32())
m.agentId = v;
else
delete m.agentId;
continue;
}
case 2: {
if (u !== 2)
break;
if ((v = r.stringVerify()).length)
m.variablesJson = v;
else
delete m.variablesJson;
continue;
}
}
r.skipType(u, q, t);
if (!r.discardUnknown) {
$util.makeProp(m, "$unknowns", false);
(m.$unknowns || (m.$unknowns = [])).push(r.raw(s, r.pos));
}
}
if (l !== $undefined) {
if (r.pos !== c)
throw $RangeError("index out of range");
r.len = l;
}
if (z !== $undefined)
throw $Error("missing end group");
return m;
};
return SetVariablesRequest;
})();
v1.ClearDialogRequest = (function() {
var ClearDialogRequest = function (p) {
if (p)
for (var ks = $Object.keys(p), i = 0; i < ks.length; ++i)
if (p[ks[i]] != null && ks[i] !== "__proto__")
this[ks[i]] = p[ks[i]];
};
ClearDialogRequest.prototype.agentId = 0;
ClearDialogRequest.encode = function (m, w, q) {
if (!w)
w = $Writer.create();
if (q === $undefined)
q = 0;
if (q > $util.recursionLimit)
throw $Error("max depth exceeded");
if (m.agentId != null && $Object.hasOwnProperty.call(m, "agentId") && m.agentId !== 0)
w.uint32(8).uint32(m.agentId);
if (m.$unknowns != null && $Object.hasOwnProperty.call(m, "$unknowns"))
for (var i = 0; i < m.$unknowns.length; ++i)
w.raw(m.$unknowns[i]);
return w;
};
ClearDialogRequest.decode = function (r, l, z, q, g) {
if (!(r instanceof $Reader))
r = $Reader.create(r);
if (q === $undefined)
q = 0;
if (q > $Reader.recursionLimit)
throw $Error("max depth exceeded");
var c, m, v;
if (l === $undefined)
c = r.len;
else {
c = r.pos + l;
if (c > r.len)
throw $RangeError("index out of range");
l = r.len;
r.len = c;
}
m = g || new $root.turngraph.v1.ClearDialogRequest();
while (r.pos < c) {
var s = r.pos;
var t = r.tag();
if (t === z) {
z = $undefined;
break;
}
var u = t & 7;
switch (t >>>= 3) {
case 1: {
if (u !== 0)
break;
if (v = r.uint32())
m.agentId = v;
else
delete m.agentId;
continue;
}
}
r.skipType(u, q, t);
if (!r.discardUnknown) {
$util.makeProp(m, "$unknowns", false);
(m.$unknowns || (m.$unknowns = [])).push(r.raw(s, r.pos));
}
}
if (l !== $undefined) {
if (r.pos !== c)
throw $RangeError("index out of range");
r.len = l;
}
if (z !== $undefined)
throw $Error("missing end group");
return m;
};
return ClearDialogRequest;
})();
v1.DestroyAgentRequest = (function() {
var DestroyAgentRequest = function (p) {
if (p)
for (var ks = $Object.keys(p), i = 0; i < ks.length; ++i)
if (p[ks[i]] != null && ks[i] !== "__proto__")
this[ks[i]] = p[ks[i]];
};
DestroyAgentRequest.prototype.agentId = 0;
DestroyAgentRequest.encode = function (m, w, q) {
if (!w)
w = $Writer.create();
if (q === $undefined)
q = 0;
if (q > $util.recursionLimit)
throw $Error("max depth exceeded");
if (m.agentId != null && $Object.hasOwnProperty.call(m, "agentId") && m.agentId !== 0)
w.uint32(8).uint32(m.agentId);
if (m.$unknowns != null && $Object.hasOwnProperty.call(m, "$unknowns"))
for (var i = 0; i < m.$unknowns.length; ++i)
w.raw(m.$unknowns[i]);
return w;
};
DestroyAgentRequest.decode = function (r, l, z, q, g) {
if (!(r instanceof $Reader))
r = $Reader.create(r);
if (q === $undefined)
q = 0;
if (q > $Reader.recursionLimit)
throw $Error("max depth exceeded");
var c, m, v;
if (l === $undefined)
c = r.len;
else {
c = r.pos + l;
if (c > r.len)
throw $RangeError("index out of range");
l = r.len;
r.len = c;
}
m = g || new $root.turngraph.v1.DestroyAgentRequest();
while (r.pos < c) {
var s = r.pos;
var t = r.tag();
if (t === z) {
z = $undefined;
break;
}
var u = t & 7;
switch (t >>>= 3) {
case 1: {
if (u !== 0)
break;
if (v = r.uint32())
m.agentId = v;
else
delete m.agentId;
continue;
}
}
r.skipType(u, q, t);
if (!r.discardUnknown) {
$util.makeProp(m, "$unknowns", false);
(m.$unknowns || (m.$unknowns = [])).push(r.raw(s, r.pos));
}
}
if (l !== $undefined) {
if (r.pos !== c)
throw $RangeError("index out of range");
r.len = l;
}
if (z !== $undefined)
throw $Error("missing end group");
return m;
};
return DestroyAgentRequest;
})();
v1.AnswerText = (function() {
var AnswerText = function (p) {
if (p)
for (var ks = $Object.keys(p), i = 0; i < ks.length; ++i)
if (p[ks[i]] != null && ks[i] !== "__proto__")
this[ks[i]] = p[ks[i]];
};
AnswerText.prototype.agentId = 0;
AnswerText.prototype.turnId = 0;
AnswerText.prototype.nodeName = "";
AnswerText.prototype.text = "";
AnswerText.prototype.isDelta = false;
AnswerText.prototype.isFinal = false;
AnswerText.prototype.source = "";
AnswerText.encode = function (m, w, q) {
if (!w)
w = $Writer.create();
if (q === $undefined)
q = 0;
if (q > $util.recursionLimit)
throw $Error("max depth exceeded");
if (m.agentId != null && $Object.hasOwnProperty.call(m, "agentId") && m.agentId !== 0)
w.uint32(8).uint32(m.agentId);
if (m.turnId != null && $Object.hasOwnProperty.call(m, "turnId") && m.turnId !== 0)
w.uint32(16).uint32(m.turnId);
if (m.nodeName != null && $Object.hasOwnProperty.call(m, "nodeName") && m.nodeName !== "")
w.uint32(26).string(m.nodeName);
if (m.text != null && $Object.hasOwnProperty.call(m, "text") && m.text !== "")
w.uint32(34).string(m.text);
if (m.isDelta != null && $Object.hasOwnProperty.call(m, "isDelta") && m.isDelta !== false)
w.uint32(40).bool(m.isDelta);
if (m.isFinal != null && $Object.hasOwnProperty.call(m, "isFinal") && m.isFinal !== false)
w.uint32(48).bool(m.isFinal);
if (m.source != null && $Object.hasOwnProperty.call(m, "source") && m.source !== "")
w.uint32(58).string(m.source);
if (m.$unknowns != null && $Object.hasOwnProperty.call(m, "$unknowns"))
for (var i = 0; i < m.$unknowns.length; ++i)
w.raw(m.$unknowns[i]);
return w;
};
AnswerText.decode = function (r, l, z, q, g) {
if (!(r instanceof $Reader))
r = $Reader.create(r);
if (q === $undefined)
q = 0;
if (q > $Reader.recursionLimit)
throw $Error("max depth exceeded");
var c, m, v;
if (l === $undefined)
c = r.len;
else {
c = r.pos + l;
if (c > r.len)
throw $RangeError("index out of range");
l = r.len;
r.len = c;
}
m = g || new $root.turngraph.v1.AnswerText();
while (r.pos < c) {
var s = r.pos;
var t = r.tag();
if (t === z) {
z = $undefined;
break;
}
var u = t & 7;
switch (t >>>= 3) {
case 1: {
if (u !== 0)
break;
if (v = r.uint32())
m.agentId = v;
else
delete m.agentId;
continue;
}
case 2: {
if (u !== 0)
break;
if (v = r.uint32())
m.turnId = v;
else
delete m.turnId;
continue;
}
case 3: {
if (u !== 2)
break;
if ((v = r.stringVerify()).length)
m.nodeName = v;
else
delete m.nodeName;
continue;
}
case 4: {
if (u !== 2)
break;
if ((v = r.stringVerify()).length)
m.text = v;
else
delete m.text;
continue;
}
case 5: {
if (u !== 0)
break;
if (v = r.bool())
m.isDelta = v;
else
delete m.isDelta;
continue;
}
case 6: {
if (u !== 0)
break;
if (v = r.bool())
m.isFinal = v;
else
delete m.isFinal;
continue;
}
case 7: {
if (u !== 2)
break;
if ((v = r.stringVerify()).length)
m.source = v;
else
delete m.source;
continue;
}
}
r.skipType(u, q, t);
if (!r.discardUnknown) {
$util.makeProp(m, "$unknowns", false);
(m.$unknowns || (m.$unknowns = [])).push(r.raw(s, r.pos));
}
}
if (l !== $undefined) {
if (r.pos !== c)
throw $RangeError("index out of range");
r.len = l;
}
if (z !== $undefined)
throw $Error("missing end group");
return m;
};
return AnswerText;
})();
v1.ToolCallIssue = (function() {
var ToolCallIssue = function (p) {
if (p)
for (var ks = $Object.keys(p), i = 0; i < ks.length; ++i)
if (p[ks[i]] != null && ks[i] !== "__proto__")
this[ks[i]] = p[ks[i]];
};
ToolCallIssue.prototype.code = "";
ToolCallIssue.prototype.param = "";
ToolCallIssue.prototype.message = "";
ToolCallIssue.encode = function (m, w, q) {
if (!w)
w = $Writer.create();
if (q === $undefined)
q = 0;
if (q > $util.recursionLimit)
throw $Error("max depth exceeded");
if (m.code != null && $Object.hasOwnProperty.call(m, "code") && m.code !== "")
w.uint32(10).string(m.code);
if (m.param != null && $Object.hasOwnProperty.call(m, "param") && m.param !== "")
w.uint32(18).string(m.param);
if (m.message != null && $Object.hasOwnProperty.call(m, "message") && m.message !== "")
w.uint32(26).string(m.message);
if (m.$unknowns != null && $Object.hasOwnProperty.call(m, "$unknowns"))
for (var i = 0; i < m.$unknowns.length; ++i)
w.raw(m.$unknowns[i]);
return w;
};
ToolCallIssue.decode = function (r, l, z, q, g) {
if (!(r instanceof $Reader))
r = $Reader.create(r);
if (q === $undefined)
q = 0;
if (q > $Reader.recursionLimit)
throw $Error("max depth exceeded");
var c, m, v;
if (l === $undefined)
c = r.len;
else {
c = r.pos + l;
if (c > r.len)
throw $RangeError("index out of range");
l = r.len;
r.len = c;
}
m = g || new $root.turngraph.v1.ToolCallIssue();
while (r.pos < c) {
var s = r.pos;
var t = r.tag();
if (t === z) {
z = $undefined;
break;
}
var u = t & 7;
switch (t >>>= 3) {
case 1: {
if (u !== 2)
break;
if ((v = r.stringVerify()).length)
m.code = v;
else
delete m.code;
continue;
}
case 2: {
if (u !== 2)
break;
if ((v = r.stringVerify()).length)
m.param = v;
else
delete m.param;
continue;
}
case 3: {
if (u !== 2)
break;
if ((v = r.stringVerify()).length)
m.message = v;
else
delete m.message;
continue;
}
}
r.skipType(u, q, t);
if (!r.discardUnknown) {
$util.makeProp(m, "$unknowns", false);
(m.$unknowns || (m.$unknowns = [])).push(r.raw(s, r.pos));
}
}
if (l !== $undefined) {
if (r.pos !== c)
throw $RangeError("index out of range");
r.len = l;
}
if (z !== $undefined)
throw $Error("missing end group");
return m;
};
return ToolCallIssue;
})();
v1.AnswerField = (function() {
var AnswerField = function (p) {
if (p)
for (var ks = $Object.keys(p), i = 0; i < ks.length; ++i)
if (p[ks[i]] != null && ks[i] !== "__proto__")
this[ks[i]] = p[ks[i]];
};
AnswerField.prototype.agentId = 0;
AnswerField.prototype.turnId = 0;
AnswerField.prototype.node = "";
AnswerField.prototype.name = "";
AnswerField.prototype.valueJson = "";
AnswerField.encode = function (m, w, q) {
if (!w)
w = $Writer.create();
if (q === $undefined)
q = 0;
if (q > $util.recursionLimit)
throw $Error("max depth exceeded");
if (m.agentId != null && $Object.hasOwnProperty.call(m, "agentId") && m.agentId !== 0)
w.uint32(8).uint32(m.agentId);
if (m.turnId != null && $Object.hasOwnProperty.call(m, "turnId") && m.turnId !== 0)
w.uint32(16).uint32(m.turnId);
if (m.node != null && $Object.hasOwnProperty.call(m, "node") && m.node !== "")
w.uint32(26).string(m.node);
if (m.name != null && $Object.hasOwnProperty.call(m, "name") && m.name !== "")
w.uint32(34).string(m.name);
if (m.valueJson != null && $Object.hasOwnProperty.call(m, "valueJson") && m.valueJson !== "")
w.uint32(42).string(m.valueJson);
if (m.$unknowns != null && $Object.hasOwnProperty.call(m, "$unknowns"))
for (var i = 0; i < m.$unknowns.length; ++i)
w.raw(m.$unknowns[i]);
return w;
};
AnswerField.decode = function (r, l, z, q, g) {
if (!(r instanceof $Reader))
r = $Reader.create(r);
if (q === $undefined)
q = 0;
if (q > $Reader.recursionLimit)
throw $Error("max depth exceeded");
var c, m, v;
if (l === $undefined)
c = r.len;
else {
c = r.pos + l;
if (c > r.len)
throw $RangeError("index out of range");
l = r.len;
r.len = c;
}
m = g || new $root.turngraph.v1.AnswerField();
while (r.pos < c) {
var s = r.pos;
var t = r.tag();
if (t === z) {
z = $undefined;
break;
}
var u = t & 7;
switch (t >>>= 3) {
case 1: {
if (u !== 0)
break;
if (v = r.uint32())
m.agentId = v;
else
delete m.agentId;
continue;
}
case 2: {
if (u !== 0)
break;
if (v = r.uint32())
m.turnId = v;
else
delete m.turnId;
continue;
}
case 3: {
if (u !== 2)
break;
if ((v = r.stringVerify()).length)
m.node = v;
else
delete m.node;
continue;
}
case 4: {
if (u !== 2)
break;
if ((v = r.stringVerify()).length)
m.name = v;
else
delete m.name;
continue;
}
case 5: {
if (u !== 2)
break;
if ((v = r.stringVerify()).length)
m.valueJson = v;
else
delete m.valueJson;
continue;
}
}
r.skipType(u, q, t);
if (!r.discardUnknown) {
$util.makeProp(m, "$unknowns", false);
(m.$unknowns || (m.$unknowns = [])).push(r.raw(s, r.pos));
}
}
if (l !== $undefined) {
if (r.pos !== c)
throw $RangeError("index out of range");
r.len = l;
}
if (z !== $undefined)
throw $Error("missing end group");
return m;
};
return AnswerField;
})();
v1.ToolCallNotification = (function() {
var ToolCallNotification = function (p) {
this.issues = [];
if (p)
for (var ks = $Object.keys(p), i = 0; i < ks.length; ++i)
if (p[ks[i]] != null && ks[i] !== "__proto__")
this[ks[i]] = p[ks[i]];
};
ToolCallNotification.prototype.agentId = 0;
ToolCallNotification.prototype.turnId = 0;
ToolCallNotification.prototype.nodeName = "";
ToolCallNotification.prototype.callIndex = 0;
ToolCallNotification.prototype.callId = "";
ToolCallNotification.prototype.toolName = "";
ToolCallNotification.prototype.argumentsJson = "";
ToolCallNotification.prototype.typedArgumentsJson = "";
ToolCallNotification.prototype.known = false;
ToolCallNotification.prototype.repaired = false;
ToolCallNotification.prototype.consequential = false;
ToolCallNotification.prototype.because = "";
ToolCallNotification.prototype.issues = $util.emptyArray;
ToolCallNotification.prototype.awaitsResult = false;
ToolCallNotification.prototype.confidence = null;
var $oneOfFields;
// Virtual OneOf for proto3 optional field
$Object.defineProperty(ToolCallNotification.prototype, "_confidence", {
get: $util.oneOfGetter($oneOfFields = ["confidence"]),
set: $util.oneOfSetter($oneOfFields)
});
ToolCallNotification.encode = function (m, w, q) {
if (!w)
w = $Writer.create();
if (q === $undefined)
q = 0;
if (q > $util.recursionLimit)
throw $Error("max depth exceeded");
if (m.agentId != null && $Object.hasOwnProperty.call(m, "agentId") && m.agentId !== 0)
w.uint32(8).uint32(m.agentId);
if (m.turnId != null && $Object.hasOwnProperty.call(m, "turnId") && m.turnId !== 0)
w.uint32(16).uint32(m.turnId);
if (m.nodeName != null && $Object.hasOwnProperty.call(m, "nodeName") && m.nodeName !== "")
w.uint32(26).string(m.nodeName);
if (m.callIndex != null && $Object.hasOwnProperty.call(m, "callIndex") && m.callIndex !== 0)
w.uint32(32).uint32(m.callIndex);
if (m.callId != null && $Object.hasOwnProperty.call(m, "callId") && m.callId !== "")
w.uint32(42).string(m.callId);
if (m.toolName != null && $Object.hasOwnProperty.call(m, "toolName") && m.toolName !== "")
w.uint32(50).string(m.toolName);
if (m.argumentsJson != null && $Object.hasOwnProperty.call(m, "argumentsJson") && m.argumentsJson !== "")
w.uint32(58).string(m.argumentsJson);
if (m.typedArgumentsJson != null && $Object.hasOwnProperty.call(m, "typedArgumentsJson") && m.typedArgumentsJson !== "")
w.uint32(66).string(m.typedArgumentsJson);
if (m.known != null && $Object.hasOwnProperty.call(m, "known") && m.known !== false)
w.uint32(72).bool(m.known);
if (m.repaired != null && $Object.hasOwnProperty.call(m, "repaired") && m.repaired !== false)
w.uint32(80).bool(m.repaired);
if (m.consequential != null && $Object.hasOwnProperty.call(m, "consequential") && m.consequential !== false)
w.uint32(88).bool(m.consequential);
if (m.because != null && $Object.hasOwnProperty.call(m, "because") && m.because !== "")
w.uint32(98).string(m.because);
if (m.issues != null && m.issues.length) {
for (var i = 0; i < m.issues.length; ++i)
$root.turngraph.v1.ToolCallIssue.encode(m.issues[i], w.uint32(106).fork(), q + 1).ldelim();
}
if (m.awaitsResult != null && $Object.hasOwnProperty.call(m, "awaitsResult") && m.awaitsResult !== false)
w.uint32(112).bool(m.awaitsResult);
if (m.confidence != null && $Object.hasOwnProperty.call(m, "confidence"))
w.uint32(121).double(m.confidence);
if (m.$unknowns != null && $Object.hasOwnProperty.call(m, "$unknowns"))
for (var i = 0; i < m.$unknowns.length; ++i)
w.raw(m.$unknowns[i]);
return w;
};
ToolCallNotification.decode = function (r, l, z, q, g) {
if (!(r instanceof $Reader))
r = $Reader.create(r);
if (q === $undefined)
q = 0;
if (q > $Reader.recursionLimit)
throw $Error("max depth exceeded");
var c, m, v;
if (l === $undefined)
c = r.len;
else {
c = r.pos + l;
if (c > r.len)
throw $RangeError("index out of range");
l = r.len;
r.len = c;
}
m = g || new $root.turngraph.v1.ToolCallNotification();
while (r.pos < c) {
var s = r.pos;
var t = r.tag();
if (t === z) {
z = $undefined;
break;
}
var u = t & 7;
switch (t >>>= 3) {
case 1: {
if (u !== 0)
break;
if (v = r.uint32())
m.agentId = v;
else
delete m.agentId;
continue;
}
case 2: {
if (u !== 0)
break;
if (v = r.uint32())
m.turnId = v;
else
delete m.turnId;
continue;
}
case 3: {
if (u !== 2)
break;
if ((v = r.stringVerify()).length)
m.nodeName = v;
else
delete m.nodeName;
continue;
}
case 4: {
if (u !== 0)
break;
if (v = r.uint32())
m.callIndex = v;
else
delete m.callIndex;
continue;
}
case 5: {
if (u !== 2)
break;
if ((v = r.stringVerify()).length)
m.callId = v;
else
delete m.callId;
continue;
}
case 6: {
if (u !== 2)
break;
if ((v = r.stringVerify()).length)
m.toolName = v;
else
delete m.toolName;
continue;
}
case 7: {
if (u !== 2)
break;
if ((v = r.stringVerify()).length)
m.argumentsJson = v;
else
delete m.argumentsJson;
continue;
}
case 8: {
if (u !== 2)
break;
if ((v = r.stringVerify()).length)
m.typedArgumentsJson = v;
else
delete m.typedArgumentsJson;
continue;
}
case 9: {
if (u !== 0)
break;
if (v = r.bool())
m.known = v;
else
delete m.known;
continue;
}
case 10: {
if (u !== 0)
break;
if (v = r.bool())
m.repaired = v;
else
delete m.repaired;
continue;
}
case 11: {
if (u !== 0)
break;
if (v = r.bool())
m.consequential = v;
else
delete m.consequential;
continue;
}
case 12: {
if (u !== 2)
break;
if ((v = r.stringVerify()).length)
m.because = v;
else
delete m.because;
continue;
}
case 13: {
if (u !== 2)
break;
if (!(m.issues && m.issues.length))
m.issues = [];
m.issues.push($root.turngraph.v1.ToolCallIssue.decode(r, r.size(), $undefined, q + 1));
continue;
}
case 14: {
if (u !== 0)
break;
if (v = r.bool())
m.awaitsResult = v;
else
delete m.awaitsResult;
continue;
}
case 15: {
if (u !== 1)
break;
m.confidence = r.double();
continue;
}
}
r.skipType(u, q, t);
if (!r.discardUnknown) {
$util.makeProp(m, "$unknowns", false);
(m.$unknowns || (m.$unknowns = [])).push(r.raw(s, r.pos));
}
}
if (l !== $undefined) {
if (r.pos !== c)
throw $RangeError("index out of range");
r.len = l;
}
if (z !== $undefined)
throw $Error("missing end group");
return m;
};
return ToolCallNotification;
})();
v1.NodeEvent = (function() {
var NodeEvent = function (p) {
if (p)
for (var ks = $Object.keys(p), i = 0; i < ks.length; ++i)
if (p[ks[i]] != null && ks[i] !== "__proto__")
this[ks[i]] = p[ks[i]];
};
NodeEvent.prototype.agentId = 0;
NodeEvent.prototype.turnId = 0;
NodeEvent.prototype.nodeName = "";
NodeEvent.prototype.eventType = "";
NodeEvent.prototype.payloadJson = "";
NodeEvent.prototype.part = 0;
NodeEvent.prototype.of = 0;
NodeEvent.prototype.mode = 0;
NodeEvent.encode = function (m, w, q) {
if (!w)
w = $Writer.create();
if (q === $undefined)
q = 0;
if (q > $util.recursionLimit)
throw $Error("max depth exceeded");
if (m.agentId != null && $Object.hasOwnProperty.call(m, "agentId") && m.agentId !== 0)
w.uint32(8).uint32(m.agentId);
if (m.turnId != null && $Object.hasOwnProperty.call(m, "turnId") && m.turnId !== 0)
w.uint32(16).uint32(m.turnId);
if (m.nodeName != null && $Object.hasOwnProperty.call(m, "nodeName") && m.nodeName !== "")
w.uint32(26).string(m.nodeName);
if (m.eventType != null && $Object.hasOwnProperty.call(m, "eventType") && m.eventType !== "")
w.uint32(34).string(m.eventType);
if (m.payloadJson != null && $Object.hasOwnProperty.call(m, "payloadJson") && m.payloadJson !== "")
w.uint32(42).string(m.payloadJson);
if (m.part != null && $Object.hasOwnProperty.call(m, "part") && m.part !== 0)
w.uint32(48).uint32(m.part);
if (m.of != null && $Object.hasOwnProperty.call(m, "of") && m.of !== 0)
w.uint32(56).uint32(m.of);
if (m.mode != null && $Object.hasOwnProperty.call(m, "mode") && m.mode !== 0)
w.uint32(64).int32(m.mode);
if (m.$unknowns != null && $Object.hasOwnProperty.call(m, "$unknowns"))
for (var i = 0; i < m.$unknowns.length; ++i)
w.raw(m.$unknowns[i]);
return w;
};
NodeEvent.decode = function (r, l, z, q, g) {
if (!(r instanceof $Reader))
r = $Reader.create(r);
if (q === $undefined)
q = 0;
if (q > $Reader.recursionLimit)
throw $Error("max depth exceeded");
var c, m, v;
if (l === $undefined)
c = r.len;
else {
c = r.pos + l;
if (c > r.len)
throw $RangeError("index out of range");
l = r.len;
r.len = c;
}
m = g || new $root.turngraph.v1.NodeEvent();
while (r.pos < c) {
var s = r.pos;
var t = r.tag();
if (t === z) {
z = $undefined;
break;
}
var u = t & 7;
switch (t >>>= 3) {
case 1: {
if (u !== 0)
break;
if (v = r.uint32())
m.agentId = v;
else
delete m.agentId;
continue;
}
case 2: {
if (u !== 0)
break;
if (v = r.uint32())
m.turnId = v;
else
delete m.turnId;
continue;
}
case 3: {
if (u !== 2)
break;
if ((v = r.stringVerify()).length)
m.nodeName = v;
else
delete m.nodeName;
continue;
}
case 4: {
if (u !== 2)
break;
if ((v = r.stringVerify()).length)
m.eventType = v;
else
delete m.eventType;
continue;
}
case 5: {
if (u !== 2)
break;
if ((v = r.stringVerify()).length)
m.payloadJson = v;
else
delete m.payloadJson;
continue;
}
case 6: {
if (u !== 0)
break;
if (v = r.uint32())
m.part = v;
else
delete m.part;
continue;
}
case 7: {
if (u !== 0)
break;
if (v = r.uint32())
m.of = v;
else
delete m.of;
continue;
}
case 8: {
if (u !== 0)
break;
if (v = r.int32())
m.mode = v;
else
delete m.mode;
continue;
}
}
r.skipType(u, q, t);
if (!r.discardUnknown) {
$util.makeProp(m, "$unknowns", false);
(m.$unknowns || (m.$unknowns = [])).push(r.raw(s, r.pos));
}
}
if (l !== $undefined) {
if (r.pos !== c)
throw $RangeError("index out of range");
r.len = l;
}
if (z !== $undefined)
throw $Error("missing end group");
return m;
};
return NodeEvent;
})();
v1.PathStep = (function() {
var PathStep = function (p) {
if (p)
for (var ks = $Object.keys(p), i = 0; i < ks.length; ++i)
if (p[ks[i]] != null && ks[i] !== "__proto__")
this[ks[i]] = p[ks[i]];
};
PathStep.prototype.nodeName = "";
PathStep.prototype.exit = "";
PathStep.encode = function (m, w, q) {
if (!w)
w = $Writer.create();
if (q === $undefined)
q = 0;
if (q > $util.recursionLimit)
throw $Error("max depth exceeded");
if (m.nodeName != null && $Object.hasOwnProperty.call(m, "nodeName") && m.nodeName !== "")
w.uint32(10).string(m.nodeName);
if (m.exit != null && $Object.hasOwnProperty.call(m, "exit") && m.exit !== "")
w.uint32(18).string(m.exit);
if (m.$unknowns != null && $Object.hasOwnProperty.call(m, "$unknowns"))
for (var i = 0; i < m.$unknowns.length; ++i)
w.raw(m.$unknowns[i]);
return w;
};
PathStep.decode = function (r, l, z, q, g) {
if (!(r instanceof $Reader))
r = $Reader.create(r);
if (q === $undefined)
q = 0;
if (q > $Reader.recursionLimit)
throw $Error("max depth exceeded");
var c, m, v;
if (l === $undefined)
c = r.len;
else {
c = r.pos + l;
if (c > r.len)
throw $RangeError("index out of range");
l = r.len;
r.len = c;
}
m = g || new $root.turngraph.v1.PathStep();
while (r.pos < c) {
var s = r.pos;
var t = r.tag();
if (t === z) {
z = $undefined;
break;
}
var u = t & 7;
switch (t >>>= 3) {
case 1: {
if (u !== 2)
break;
if ((v = r.stringVerify()).length)
m.nodeName = v;
else
delete m.nodeName;
continue;
}
case 2: {
if (u !== 2)
break;
if ((v = r.stringVerify()).length)
m.exit = v;
else
delete m.exit;
continue;
}
}
r.skipType(u, q, t);
if (!r.discardUnknown) {
$util.makeProp(m, "$unknowns", false);
(m.$unknowns || (m.$unknowns = [])).push(r.raw(s, r.pos));
}
}
if (l !== $undefined) {
if (r.pos !== c)
throw $RangeError("index out of range");
r.len = l;
}
if (z !== $undefined)
throw $Error("missing end group");
return m;
};
return PathStep;
})();
v1.TurnError = (function() {
var TurnError = function (p) {
if (p)
for (var ks = $Object.keys(p), i = 0; i < ks.length; ++i)
if (p[ks[i]] != null && ks[i] !== "__proto__")
this[ks[i]] = p[ks[i]];
};
TurnError.prototype.code = 0;
TurnError.prototype.name = "";
TurnError.prototype.message = "";
TurnError.encode = function (m, w, q) {
if (!w)
w = $Writer.create();
if (q === $undefined)
q = 0;
if (q > $util.recursionLimit)
throw $Error("max depth exceeded");
if (m.code != null && $Object.hasOwnProperty.call(m, "code") && m.code !== 0)
w.uint32(8).uint32(m.code);
if (m.name != null && $Object.hasOwnProperty.call(m, "name") && m.name !== "")
w.uint32(18).string(m.name);
if (m.message != null && $Object.hasOwnProperty.call(m, "message") && m.message !== "")
w.uint32(26).string(m.message);
if (m.$unknowns != null && $Object.hasOwnProperty.call(m, "$unknowns"))
for (var i = 0; i < m.$unknowns.length; ++i)
w.raw(m.$unknowns[i]);
return w;
};
TurnError.decode = function (r, l, z, q, g) {
if (!(r instanceof $Reader))
r = $Reader.create(r);
if (q === $undefined)
q = 0;
if (q > $Reader.recursionLimit)
throw $Error("max depth exceeded");
var c, m, v;
if (l === $undefined)
c = r.len;
else {
c = r.pos + l;
if (c > r.len)
throw $RangeError("index out of range");
l = r.len;
r.len = c;
}
m = g || new $root.turngraph.v1.TurnError();
while (r.pos < c) {
var s = r.pos;
var t = r.tag();
if (t === z) {
z = $undefined;
break;
}
var u = t & 7;
switch (t >>>= 3) {
case 1: {
if (u !== 0)
break;
if (v = r.uint32())
m.code = v;
else
delete m.code;
continue;
}
case 2: {
if (u !== 2)
break;
if ((v = r.stringVerify()).length)
m.name = v;
else
delete m.name;
continue;
}
case 3: {
if (u !== 2)
break;
if ((v = r.stringVerify()).length)
m.message = v;
else
delete m.message;
continue;
}
}
r.skipType(u, q, t);
if (!r.discardUnknown) {
$util.makeProp(m, "$unknowns", false);
(m.$unknowns || (m.$unknowns = [])).push(r.raw(s, r.pos));
}
}
if (l !== $undefined) {
if (r.pos !== c)
throw $RangeError("index out of range");
r.len = l;
}
if (z !== $undefined)
throw $Error("missing end group");
return m;
};
return TurnError;
})();
v1.TurnComplete = (function() {
var TurnComplete = function (p) {
this.path = [];
this.warnings = [];
this.resultMetadata = [];
this.modelChoices = [];
if (p)
for (var ks = $Object.keys(p), i = 0; i < ks.length; ++i)
if (p[ks[i]] != null && ks[i] !== "__proto__")
this[ks[i]] = p[ks[i]];
};
TurnComplete.prototype.agentId = 0;
TurnComplete.prototype.turnId = 0;
TurnComplete.prototype.status = 0;
TurnComplete.prototype.error = null;
TurnComplete.prototype.path = $util.emptyArray;
TurnComplete.prototype.stopReason = 0;
TurnComplete.prototype.tokensPrompt = 0;
TurnComplete.prototype.tokensReused = 0;
TurnComplete.prototype.tokensGenerated = 0;
TurnComplete.prototype.interactionsDropped = 0;
TurnComplete.prototype.timeToFirstTokenMs = 0;
TurnComplete.prototype.durationMs = 0;
TurnComplete.prototype.warnings = $util.emptyArray;
TurnComplete.prototype.debugInfo = "";
TurnComplete.prototype.mode = 0;
TurnComplete.prototype.resultMetadata = $util.emptyArray;
TurnComplete.prototype.interactionsSummarised = 0;
TurnComplete.prototype.modelChoices = $util.emptyArray;
TurnComplete.encode = function (m, w, q) {
if (!w)
w = $Writer.create();
if (q === $undefined)
q = 0;
if (q > $util.recursionLimit)
throw $Error("max depth exceeded");
if (m.agentId != null && $Object.hasOwnProperty.call(m, "agentId") && m.agentId !== 0)
w.uint32(8).uint32(m.agentId);
if (m.turnId != null && $Object.hasOwnProperty.call(m, "turnId") && m.turnId !== 0)
w.uint32(16).uint32(m.turnId);
if (m.status != null && $Object.hasOwnProperty.call(m, "status") && m.status !== 0)
w.uint32(24).int32(m.status);
if (m.error != null && $Object.hasOwnProperty.call(m, "error"))
$root.turngraph.v1.TurnError.encode(m.error, w.uint32(34).fork(), q + 1).ldelim();
if (m.path != null && m.path.length) {
for (var i = 0; i < m.path.length; ++i)
$root.turngraph.v1.PathStep.encode(m.path[i], w.uint32(42).fork(), q + 1).ldelim();
}
if (m.stopReason != null && $Object.hasOwnProperty.call(m, "stopReason") && m.stopReason !== 0)
w.uint32(48).int32(m.stopReason);
if (m.tokensPrompt != null && $Object.hasOwnProperty.call(m, "tokensPrompt") && m.tokensPrompt !== 0)
w.uint32(56).uint32(m.tokensPrompt);
if (m.tokensReused != null && $Object.hasOwnProperty.call(m, "tokensReused") && m.tokensReused !== 0)
w.uint32(64).uint32(m.tokensReused);
if (m.tokensGenerated != null && $Object.hasOwnProperty.call(m, "tokensGenerated") && m.tokensGenerated !== 0)
w.uint32(72).uint32(m.tokensGenerated);
if (m.interactionsDropped != null && $Object.hasOwnProperty.call(m, "interactionsDropped") && m.interactionsDropped !== 0)
w.uint32(80).uint32(m.interactionsDropped);
if (m.timeToFirstTokenMs != null && $Object.hasOwnProperty.call(m, "timeToFirstTokenMs") && !$Object.is(m.timeToFirstTokenMs, 0))
w.uint32(89).double(m.timeToFirstTokenMs);
if (m.durationMs != null && $Object.hasOwnProperty.call(m, "durationMs") && !$Object.is(m.durationMs, 0))
w.uint32(97).double(m.durationMs);
if (m.warnings != null && m.warnings.length) {
for (var i = 0; i < m.warnings.length; ++i)
w.uint32(106).string(m.warnings[i]);
}
if (m.debugInfo != null && $Object.hasOwnProperty.call(m, "debugInfo") && m.debugInfo !== "")
w.uint32(114).string(m.debugInfo);
if (m.mode != null && $Object.hasOwnProperty.call(m, "mode") && m.mode !== 0)
w.uint32(120).int32(m.mode);
if (m.resultMetadata != null && m.resultMetadata.length) {
for (var i = 0; i < m.resultMetadata.length; ++i)
$root.turngraph.v1.ResultMetadata.encode(m.resultMetadata[i], w.uint32(130).fork(), q + 1).ldelim();
}
if (m.interactionsSummarised != null && $Object.hasOwnProperty.call(m, "interactionsSummarised") && m.interactionsSummarised !== 0)
w.uint32(136).uint32(m.interactionsSummarised);
if (m.modelChoices != null && m.modelChoices.length) {
for (var i = 0; i < m.modelChoices.length; ++i)
$root.turngraph.v1.ModelChoice.encode(m.modelChoices[i], w.uint32(146).fork(), q + 1).ldelim();
}
if (m.$unknowns != null && $Object.hasOwnProperty.call(m, "$unknowns"))
for (var i = 0; i < m.$unknowns.length; ++i)
w.raw(m.$unknowns[i]);
return w;
};
TurnComplete.decode = function (r, l, z, q, g) {
if (!(r instanceof $Reader))
r = $Reader.create(r);
if (q === $undefined)
q = 0;
if (q > $Reader.recursionLimit)
throw $Error("max depth exceeded");
var c, m, v;
if (l === $undefined)
c = r.len;
else {
c = r.pos + l;
if (c > r.len)
throw $RangeError("index out of range");
l = r.len;
r.len = c;
}
m = g || new $root.turngraph.v1.TurnComplete();
while (r.pos < c) {
var s = r.pos;
var t = r.tag();
if (t === z) {
z = $undefined;
break;
}
var u = t & 7;
switch (t >>>= 3) {
case 1: {
if (u !== 0)
break;
if (v = r.uint32())
m.agentId = v;
else
delete m.agentId;
continue;
}
case 2: {
if (u !== 0)
break;
if (v = r.uint32())
m.turnId = v;
else
delete m.turnId;
continue;
}
case 3: {
if (u !== 0)
break;
if (v = r.int32())
m.status = v;
else
delete m.status;
continue;
}
case 4: {
if (u !== 2)
break;
m.error = $root.turngraph.v1.TurnError.decode(r, r.size(), $undefined, q + 1, m.error);
continue;
}
case 5: {
if (u !== 2)
break;
if (!(m.path && m.path.length))
m.path = [];
m.path.push($root.turngraph.v1.PathStep.decode(r, r.size(), $undefined, q + 1));
continue;
}
case 6: {
if (u !== 0)
break;
if (v = r.int32())
m.stopReason = v;
else
delete m.stopReason;
continue;
}
case 7: {
if (u !== 0)
break;
if (v = r.uint32())
m.tokensPrompt = v;
else
delete m.tokensPrompt;
continue;
}
case 8: {
if (u !== 0)
break;
if (v = r.uint32())
m.tokensReused = v;
else
delete m.tokensReused;
continue;
}
case 9: {
if (u !== 0)
break;
if (v = r.uint32())
m.tokensGenerated = v;
else
delete m.tokensGenerated;
continue;
}
case 10: {
if (u !== 0)
break;
if (v = r.uint32())
m.interactionsDropped = v;
else
delete m.interactionsDropped;
continue;
}
case 11: {
if (u !== 1)
break;
if (!$Object.is(v = r.double(), 0))
m.timeToFirstTokenMs = v;
else
delete m.timeToFirstTokenMs;
continue;
}
case 12: {
if (u !== 1)
break;
if (!$Object.is(v = r.double(), 0))
m.durationMs = v;
else
delete m.durationMs;
continue;
}
case 13: {
if (u !== 2)
break;
if (!(m.warnings && m.warnings.length))
m.warnings = [];
m.warnings.push(r.stringVerify());
continue;
}
case 14: {
if (u !== 2)
break;
if ((v = r.stringVerify()).length)
m.debugInfo = v;
else
delete m.debugInfo;
continue;
}
case 15: {
if (u !== 0)
break;
if (v = r.int32())
m.mode = v;
else
delete m.mode;
continue;
}
case 16: {
if (u !== 2)
break;
if (!(m.resultMetadata && m.resultMetadata.length))
m.resultMetadata = [];
m.resultMetadata.push($root.turngraph.v1.ResultMetadata.decode(r, r.size(), $undefined, q + 1));
continue;
}
case 17: {
if (u !== 0)
break;
if (v = r.uint32())
m.interactionsSummarised = v;
else
delete m.interactionsSummarised;
continue;
}
case 18: {
if (u !== 2)
break;
if (!(m.modelChoices && m.modelChoices.length))
m.modelChoices = [];
m.modelChoices.push($root.turngraph.v1.ModelChoice.decode(r, r.size(), $undefined, q + 1));
continue;
}
}
r.skipType(u, q, t);
if (!r.discardUnknown) {
$util.makeProp(m, "$unknowns", false);
(m.$unknowns || (m.$unknowns = [])).push(r.raw(s, r.pos));
}
}
if (l !== $undefined) {
if (r.pos !== c)
throw $RangeError("index out of range");
r.len = l;
}
if (z !== $undefined)
throw $Error("missing end group");
return m;
};
TurnComplete.Status = (function() {
var valuesById = $Object.create(null), values = $Object.create(valuesById);
values[valuesById[0] = "SUCCESS"] = 0;
values[valuesById[1] = "ERROR"] = 1;
values[valuesById[2] = "CANCELLED"] = 2;
return values;
})();
TurnComplete.StopReason = (function() {
var valuesById = $Object.create(null), values = $Object.create(valuesById);
values[valuesById[0] = "NONE"] = 0;
values[valuesById[1] = "END"] = 1;
values[valuesById[2] = "LENGTH"] = 2;
values[valuesById[3] = "STOP"] = 3;
values[valuesById[4] = "ABORTED"] = 4;
return values;
})();
return TurnComplete;
})();
v1.ModelChoice = (function() {
var ModelChoice = function (p) {
if (p)
for (var ks = $Object.keys(p), i = 0; i < ks.length; ++i)
if (p[ks[i]] != null && ks[i] !== "__proto__")
this[ks[i]] = p[ks[i]];
};
ModelChoice.prototype.name = "";
ModelChoice.prototype.reason = "";
ModelChoice.encode = function (m, w, q) {
if (!w)
w = $Writer.create();
if (q === $undefined)
q = 0;
if (q > $util.recursionLimit)
throw $Error("max depth exceeded");
if (m.name != null && $Object.hasOwnProperty.call(m, "name") && m.name !== "")
w.uint32(10).string(m.name);
if (m.reason != null && $Object.hasOwnProperty.call(m, "reason") && m.reason !== "")
w.uint32(18).string(m.reason);
if (m.$unknowns != null && $Object.hasOwnProperty.call(m, "$unknowns"))
for (var i = 0; i < m.$unknowns.length; ++i)
w.raw(m.$unknowns[i]);
return w;
};
ModelChoice.decode = function (r, l, z, q, g) {
if (!(r instanceof $Reader))
r = $Reader.create(r);
if (q === $undefined)
q = 0;
if (q > $Reader.recursionLimit)
throw $Error("max depth exceeded");
var c, m, v;
if (l === $undefined)
c = r.len;
else {
c = r.pos + l;
if (c > r.len)
throw $RangeError("index out of range");
l = r.len;
r.len = c;
}
m = g || new $root.turngraph.v1.ModelChoice();
while (r.pos < c) {
var s = r.pos;
var t = r.tag();
if (t === z) {
z = $undefined;
break;
}
var u = t & 7;
switch (t >>>= 3) {
case 1: {
if (u !== 2)
break;
if ((v = r.stringVerify()).length)
m.name = v;
else
delete m.name;
continue;
}
case 2: {
if (u !== 2)
break;
if ((v = r.stringVerify()).length)
m.reason = v;
else
delete m.reason;
continue;
}
}
r.skipType(u, q, t);
if (!r.discardUnknown) {
$util.makeProp(m, "$unknowns", false);
(m.$unknowns || (m.$unknowns = [])).push(r.raw(s, r.pos));
}
}
if (l !== $undefined) {
if (r.pos !== c)
throw $RangeError("index out of range");
r.len = l;
}
if (z !== $undefined)
throw $Error("missing end group");
return m;
};
return ModelChoice;
})();
v1.Sampling = (function() {
var Sampling = function (p) {
if (p)
for (var ks = $Object.keys(p), i = 0; i < ks.length; ++i)
if (p[ks[i]] != null && ks[i] !== "__proto__")
this[ks[i]] = p[ks[i]];
};
Sampling.prototype.temperature = 0;
Sampling.prototype.topP = 0;
Sampling.prototype.topK = 0;
Sampling.prototype.minP = 0;
Sampling.prototype.repeatPenalty = 0;
Sampling.prototype.presencePenalty = 0;
Sampling.prototype.frequencyPenalty = 0;
Sampling.prototype.maxTokens = 0;
Sampling.prototype.seed = 0;
Sampling.prototype.maxTokensPerSecond = 0;
Sampling.prototype.speculate = "";
Sampling.encode = function (m, w, q) {
if (!w)
w = $Writer.create();
if (q === $undefined)
q = 0;
if (q > $util.recursionLimit)
throw $Error("max depth exceeded");
if (m.temperature != null && $Object.hasOwnProperty.call(m, "temperature") && !$Object.is(m.temperature, 0))
w.uint32(9).double(m.temperature);
if (m.topP != null && $Object.hasOwnProperty.call(m, "topP") && !$Object.is(m.topP, 0))
w.uint32(17).double(m.topP);
if (m.topK != null && $Object.hasOwnProperty.call(m, "topK") && m.topK !== 0)
w.uint32(24).uint32(m.topK);
if (m.minP != null && $Object.hasOwnProperty.call(m, "minP") && !$Object.is(m.minP, 0))
w.uint32(33).double(m.minP);
if (m.repeatPenalty != null && $Object.hasOwnProperty.call(m, "repeatPenalty") && !$Object.is(m.repeatPenalty, 0))
w.uint32(41).double(m.repeatPenalty);
if (m.presencePenalty != null && $Object.hasOwnProperty.call(m, "presencePenalty") && !$Object.is(m.presencePenalty, 0))
w.uint32(49).double(m.presencePenalty);
if (m.frequencyPenalty != null && $Object.hasOwnProperty.call(m, "frequencyPenalty") && !$Object.is(m.frequencyPenalty, 0))
w.uint32(57).double(m.frequencyPenalty);
if (m.maxTokens != null && $Object.hasOwnProperty.call(m, "maxTokens") && m.maxTokens !== 0)
w.uint32(64).uint32(m.maxTokens);
if (m.seed != null && $Object.hasOwnProperty.call(m, "seed") && m.seed !== 0)
w.uint32(72).uint32(m.seed);
if (m.maxTokensPerSecond != null && $Object.hasOwnProperty.call(m, "maxTokensPerSecond") && m.maxTokensPerSecond !== 0)
w.uint32(80).uint32(m.maxTokensPerSecond);
if (m.speculate != null && $Object.hasOwnProperty.call(m, "speculate") && m.speculate !== "")
w.uint32(90).string(m.speculate);
if (m.$unknowns != null && $Object.hasOwnProperty.call(m, "$unknowns"))
for (var i = 0; i < m.$unknowns.length; ++i)
w.raw(m.$unknowns[i]);
return w;
};
Sampling.decode = function (r, l, z, q, g) {
if (!(r instanceof $Reader))
r = $Reader.create(r);
if (q === $undefined)
q = 0;
if (q > $Reader.recursionLimit)
throw $Error("max depth exceeded");
var c, m, v;
if (l === $undefined)
c = r.len;
else {
c = r.pos + l;
if (c > r.len)
throw $RangeError("index out of range");
l = r.len;
r.len = c;
}
m = g || new $root.turngraph.v1.Sampling();
while (r.pos < c) {
var s = r.pos;
var t = r.tag();
if (t === z) {
z = $undefined;
break;
}
var u = t & 7;
switch (t >>>= 3) {
case 1: {
if (u !== 1)
break;
if (!$Object.is(v = r.double(), 0))
m.temperature = v;
else
delete m.temperature;
continue;
}
case 2: {
if (u !== 1)
break;
if (!$Object.is(v = r.double(), 0))
m.topP = v;
else
delete m.topP;
continue;
}
case 3: {
if (u !== 0)
break;
if (v = r.uint32())
m.topK = v;
else
delete m.topK;
continue;
}
case 4: {
if (u !== 1)
break;
if (!$Object.is(v = r.double(), 0))
m.minP = v;
else
delete m.minP;
continue;
}
case 5: {
if (u !== 1)
break;
if (!$Object.is(v = r.double(), 0))
m.repeatPenalty = v;
else
delete m.repeatPenalty;
continue;
}
case 6: {
if (u !== 1)
break;
if (!$Object.is(v = r.double(), 0))
m.presencePenalty = v;
else
delete m.presencePenalty;
continue;
}
case 7: {
if (u !== 1)
break;
if (!$Object.is(v = r.double(), 0))
m.frequencyPenalty = v;
else
delete m.frequencyPenalty;
continue;
}
case 8: {
if (u !== 0)
break;
if (v = r.uint32())
m.maxTokens = v;
else
delete m.maxTokens;
continue;
}
case 9: {
if (u !== 0)
break;
if (v = r.uint32())
m.seed = v;
else
delete m.seed;
continue;
}
case 10: {
if (u !== 0)
break;
if (v = r.uint32())
m.maxTokensPerSecond = v;
else
delete m.maxTokensPerSecond;
continue;
}
case 11: {
if (u !== 2)
break;
if ((v = r.stringVerify()).length)
m.speculate = v;
else
delete m.speculate;
continue;
}
}
r.skipType(u, q, t);
if (!r.discardUnknown) {
$util.makeProp(m, "$unknowns", false);
(m.$unknowns || (m.$unknowns = [])).push(r.raw(s, r.pos));
}
}
if (l !== $undefined) {
if (r.pos !== c)
throw $RangeError("index out of range");
r.len = l;
}
if (z !== $undefined)
throw $Error("missing end group");
return m;
};
return Sampling;
})();
v1.ModelInfo = (function() {
var ModelInfo = function (p) {
this.files = [];
if (p)
for (var ks = $Object.keys(p), i = 0; i < ks.length; ++i)
if (p[ks[i]] != null && ks[i] !== "__proto__")
this[ks[i]] = p[ks[i]];
};
ModelInfo.prototype.name = "";
ModelInfo.prototype.status = 0;
ModelInfo.prototype.pinned = false;
ModelInfo.prototype.agents = 0;
ModelInfo.prototype.sizeBytes = 0;
ModelInfo.prototype.contextSize = 0;
ModelInfo.prototype.toolCallFormat = "";
ModelInfo.prototype.toolCallFormatDetected = false;
ModelInfo.prototype.huggingfaceRepo = "";
ModelInfo.prototype.files = $util.emptyArray;
ModelInfo.prototype.license = "";
ModelInfo.prototype.defaultSampling = null;
ModelInfo.prototype.description = "";
ModelInfo.prototype.backend = "";
ModelInfo.prototype.gpuLayers = 0;
ModelInfo.prototype.threads = 0;
ModelInfo.prototype.slots = 0;
ModelInfo.prototype.weightsBytes = 0;
ModelInfo.prototype.contextBytes = 0;
ModelInfo.prototype.slotBytes = 0;
ModelInfo.prototype.vramBytes = 0;
ModelInfo.prototype.prefillThreads = 0;
ModelInfo.prototype.purpose = "";
ModelInfo.prototype.tokensPerSecond = 0;
ModelInfo.prototype.choice = "";
ModelInfo.encode = function (m, w, q) {
if (!w)
w = $Writer.create();
if (q === $undefined)
q = 0;
if (q > $util.recursionLimit)
throw $Error("max depth exceeded");
if (m.name != null && $Object.hasOwnProperty.call(m, "name") && m.name !== "")
w.uint32(10).string(m.name);
if (m.status != null && $Object.hasOwnProperty.call(m, "status") && m.status !== 0)
w.uint32(16).int32(m.status);
if (m.pinned != null && $Object.hasOwnProperty.call(m, "pinned") && m.pinned !== false)
w.uint32(24).bool(m.pinned);
if (m.agents != null && $Object.hasOwnProperty.call(m, "agents") && m.agents !== 0)
w.uint32(32).uint32(m.agents);
if (m.sizeBytes != null && $Object.hasOwnProperty.call(m, "sizeBytes") && !$Object.is(m.sizeBytes, 0))
w.uint32(41).double(m.sizeBytes);
if (m.contextSize != null && $Object.hasOwnProperty.call(m, "contextSize") && m.contextSize !== 0)
w.uint32(48).uint32(m.contextSize);
if (m.toolCallFormat != null && $Object.hasOwnProperty.call(m, "toolCallFormat") && m.toolCallFormat !== "")
w.uint32(58).string(m.toolCallFormat);
if (m.toolCallFormatDetected != null && $Object.hasOwnProperty.call(m, "toolCallFormatDetected") && m.toolCallFormatDetected !== false)
w.uint32(64).bool(m.toolCallFormatDetected);
if (m.huggingfaceRepo != null && $Object.hasOwnProperty.call(m, "huggingfaceRepo") && m.huggingfaceRepo !== "")
w.uint32(74).string(m.huggingfaceRepo);
if (m.files != null && m.files.length) {
for (var i = 0; i < m.files.length; ++i)
w.uint32(82).string(m.files[i]);
}
if (m.license != null && $Object.hasOwnProperty.call(m, "license") && m.license !== "")
w.uint32(90).string(m.license);
if (m.defaultSampling != null && $Object.hasOwnProperty.call(m, "defaultSampling"))
$root.turngraph.v1.Sampling.encode(m.defaultSampling, w.uint32(98).fork(), q + 1).ldelim();
if (m.description != null && $Object.hasOwnProperty.call(m, "description") && m.description !== "")
w.uint32(106).string(m.description);
if (m.backend != null && $Object.hasOwnProperty.call(m, "backend") && m.backend !== "")
w.uint32(114).string(m.backend);
if (m.gpuLayers != null && $Object.hasOwnProperty.call(m, "gpuLayers") && m.gpuLayers !== 0)
w.uint32(120).uint32(m.gpuLayers);
if (m.threads != null && $Object.hasOwnProperty.call(m, "threads") && m.threads !== 0)
w.uint32(128).uint32(m.threads);
if (m.slots != null && $Object.hasOwnProperty.call(m, "slots") && m.slots !== 0)
w.uint32(136).uint32(m.slots);
if (m.weightsBytes != null && $Object.hasOwnProperty.call(m, "weightsBytes") && !$Object.is(m.weightsBytes, 0))
w.uint32(145).double(m.weightsBytes);
if (m.contextBytes != null && $Object.hasOwnProperty.call(m, "contextBytes") && !$Object.is(m.contextBytes, 0))
w.uint32(153).double(m.contextBytes);
if (m.slotBytes != null && $Object.hasOwnProperty.call(m, "slotBytes") && !$Object.is(m.slotBytes, 0))
w.uint32(161).double(m.slotBytes);
if (m.vramBytes != null && $Object.hasOwnProperty.call(m, "vramBytes") && !$Object.is(m.vramBytes, 0))
w.uint32(169).double(m.vramBytes);
if (m.prefillThreads != null && $Object.hasOwnProperty.call(m, "prefillThreads") && m.prefillThreads !== 0)
w.uint32(176).uint32(m.prefillThreads);
if (m.purpose != null && $Object.hasOwnProperty.call(m, "purpose") && m.purpose !== "")
w.uint32(186).string(m.purpose);
if (m.tokensPerSecond != null && $Object.hasOwnProperty.call(m, "tokensPerSecond") && !$Object.is(m.tokensPerSecond, 0))
w.uint32(193).double(m.tokensPerSecond);
if (m.choice != null && $Object.hasOwnProperty.call(m, "choice") && m.choice !== "")
w.uint32(202).string(m.choice);
if (m.$unknowns != null && $Object.hasOwnProperty.call(m, "$unknowns"))
for (var i = 0; i < m.$unknowns.length; ++i)
w.raw(m.$unknowns[i]);
return w;
};
ModelInfo.decode = function (r, l, z, q, g) {
if (!(r instanceof $Reader))
r = $Reader.create(r);
if (q === $undefined)
q = 0;
if (q > $Reader.recursionLimit)
throw $Error("max depth exceeded");
var c, m, v;
if (l === $undefined)
c = r.len;
else {
c = r.pos + l;
if (c > r.len)
throw $RangeError("index out of range");
l = r.len;
r.len = c;
}
m = g || new $root.turngraph.v1.ModelInfo();
while (r.pos < c) {
var s = r.pos;
var t = r.tag();
if (t === z) {
z = $undefined;
break;
}
var u = t & 7;
switch (t >>>= 3) {
case 1: {
if (u !== 2)
break;
if ((v = r.stringVerify()).length)
m.name = v;
else
delete m.name;
continue;
}
case 2: {
if (u !== 0)
break;
if (v = r.int32())
m.status = v;
else
delete m.status;
continue;
}
case 3: {
if (u !== 0)
break;
if (v = r.bool())
m.pinned = v;
else
delete m.pinned;
continue;
}
case 4: {
if (u !== 0)
break;
if (v = r.uint32())
m.agents = v;
else
delete m.agents;
continue;
}
case 5: {
if (u !== 1)
break;
if (!$Object.is(v = r.double(), 0))
m.sizeBytes = v;
else
delete m.sizeBytes;
continue;
}
case 6: {
if (u !== 0)
break;
if (v = r.uint32())
m.contextSize = v;
else
delete m.contextSize;
continue;
}
case 7: {
if (u !== 2)
break;
if ((v = r.stringVerify()).length)
m.toolCallFormat = v;
else
delete m.toolCallFormat;
continue;
}
case 8: {
if (u !== 0)
break;
if (v = r.bool())
m.toolCallFormatDetected = v;
else
delete m.toolCallFormatDetected;
continue;
}
case 9: {
if (u !== 2)
break;
if ((v = r.stringVerify()).length)
m.huggingfaceRepo = v;
else
delete m.huggingfaceRepo;
continue;
}
case 10: {
if (u !== 2)
break;
if (!(m.files && m.files.length))
m.files = [];
m.files.push(r.stringVerify());
continue;
}
case 11: {
if (u !== 2)
break;
if ((v = r.stringVerify()).length)
m.license = v;
else
delete m.license;
continue;
}
case 12: {
if (u !== 2)
break;
m.defaultSampling = $root.turngraph.v1.Sampling.decode(r, r.size(), $undefined, q + 1, m.defaultSampling);
continue;
}
case 13: {
if (u !== 2)
break;
if ((v = r.stringVerify()).length)
m.description = v;
else
delete m.description;
continue;
}
case 14: {
if (u !== 2)
break;
if ((v = r.stringVerify()).length)
m.backend = v;
else
delete m.backend;
continue;
}
case 15: {
if (u !== 0)
break;
if (v = r.uint32())
m.gpuLayers = v;
else
delete m.gpuLayers;
continue;
}
case 16: {
if (u !== 0)
break;
if (v = r.uint32())
m.threads = v;
else
delete m.threads;
continue;
}
case 17: {
if (u !== 0)
break;
if (v = r.uint32())
m.slots = v;
else
delete m.slots;
continue;
}
case 18: {
if (u !== 1)
break;
if (!$Object.is(v = r.double(), 0))
m.weightsBytes = v;
else
delete m.weightsBytes;
continue;
}
case 19: {
if (u !== 1)
break;
if (!$Object.is(v = r.double(), 0))
m.contextBytes = v;
else
delete m.contextBytes;
continue;
}
case 20: {
if (u !== 1)
break;
if (!$Object.is(v = r.double(), 0))
m.slotBytes = v;
else
delete m.slotBytes;
continue;
}
case 21: {
if (u !== 1)
break;
if (!$Object.is(v = r.double(), 0))
m.vramBytes = v;
else
delete m.vramBytes;
continue;
}
case 22: {
if (u !== 0)
break;
if (v = r.uint32())
m.prefillThreads = v;
else
delete m.prefillThreads;
continue;
}
case 23: {
if (u !== 2)
break;
if ((v = r.stringVerify()).length)
m.purpose = v;
else
delete m.purpose;
continue;
}
case 24: {
if (u !== 1)
break;
if (!$Object.is(v = r.double(), 0))
m.tokensPerSecond = v;
else
delete m.tokensPerSecond;
continue;
}
case 25: {
if (u !== 2)
break;
if ((v = r.stringVerify()).length)
m.choice = v;
else
delete m.choice;
continue;
}
}
r.skipType(u, q, t);
if (!r.discardUnknown) {
$util.makeProp(m, "$unknowns", false);
(m.$unknowns || (m.$unknowns = [])).push(r.raw(s, r.pos));
}
}
if (l !== $undefined) {
if (r.pos !== c)
throw $RangeError("index out of range");
r.len = l;
}
if (z !== $undefined)
throw $Error("missing end group");
return m;
};
ModelInfo.Status = (function() {
var valuesById = $Object.create(null), values = $Object.create(valuesById);
values[valuesById[0] = "ABSENT"] = 0;
values[valuesById[1] = "DOWNLOADING"] = 1;
values[valuesById[2] = "DOWNLOADED"] = 2;
values[valuesById[3] = "LOCAL"] = 3;
values[valuesById[4] = "LOADED"] = 4;
return values;
})();
return ModelInfo;
})();
v1.ListModelsRequest = (function() {
var ListModelsRequest = function (p) {
if (p)
for (var ks = $Object.keys(p), i = 0; i < ks.length; ++i)
if (p[ks[i]] != null && ks[i] !== "__proto__")
this[ks[i]] = p[ks[i]];
};
ListModelsRequest.prototype.pageToken = "";
ListModelsRequest.encode = function (m, w, q) {
if (!w)
w = $Writer.create();
if (q === $undefined)
q = 0;
if (q > $util.recursionLimit)
throw $Error("max depth exceeded");
if (m.pageToken != null && $Object.hasOwnProperty.call(m, "pageToken") && m.pageToken !== "")
w.uint32(10).string(m.pageToken);
if (m.$unknowns != null && $Object.hasOwnProperty.call(m, "$unknowns"))
for (var i = 0; i < m.$unknowns.length; ++i)
w.raw(m.$unknowns[i]);
return w;
};
ListModelsRequest.decode = function (r, l, z, q, g) {
if (!(r instanceof $Reader))
r = $Reader.create(r);
if (q === $undefined)
q = 0;
if (q > $Reader.recursionLimit)
throw $Error("max depth exceeded");
var c, m, v;
if (l === $undefined)
c = r.len;
else {
c = r.pos + l;
if (c > r.len)
throw $RangeError("index out of range");
l = r.len;
r.len = c;
}
m = g || new $root.turngraph.v1.ListModelsRequest();
while (r.pos < c) {
var s = r.pos;
var t = r.tag();
if (t === z) {
z = $undefined;
break;
}
var u = t & 7;
switch (t >>>= 3) {
case 1: {
if (u !== 2)
break;
if ((v = r.stringVerify()).length)
m.pageToken = v;
else
delete m.pageToken;
continue;
}
}
r.skipType(u, q, t);
if (!r.discardUnknown) {
$util.makeProp(m, "$unknowns", false);
(m.$unknowns || (m.$unknowns = [])).push(r.raw(s, r.pos));
}
}
if (l !== $undefined) {
if (r.pos !== c)
throw $RangeError("index out of range");
r.len = l;
}
if (z !== $undefined)
throw $Error("missing end group");
return m;
};
return ListModelsRequest;
})();
v1.ListModelsResponse = (function() {
var ListModelsResponse = function (p) {
this.models = [];
if (p)
for (var ks = $Object.keys(p), i = 0; i < ks.length; ++i)
if (p[ks[i]] != null && ks[i] !== "__proto__")
this[ks[i]] = p[ks[i]];
};
ListModelsResponse.prototype.models = $util.emptyArray;
ListModelsResponse.prototype.nextPageToken = "";
ListModelsResponse.encode = function (m, w, q) {
if (!w)
w = $Writer.create();
if (q === $undefined)
q = 0;
if (q > $util.recursionLimit)
throw $Error("max depth exceeded");
if (m.models != null && m.models.length) {
for (var i = 0; i < m.models.length; ++i)
$root.turngraph.v1.ModelInfo.encode(m.models[i], w.uint32(10).fork(), q + 1).ldelim();
}
if (m.nextPageToken != null && $Object.hasOwnProperty.call(m, "nextPageToken") && m.nextPageToken !== "")
w.uint32(18).string(m.nextPageToken);
if (m.$unknowns != null && $Object.hasOwnProperty.call(m, "$unknowns"))
for (var i = 0; i < m.$unknowns.length; ++i)
w.raw(m.$unknowns[i]);
return w;
};
ListModelsResponse.decode = function (r, l, z, q, g) {
if (!(r instanceof $Reader))
r = $Reader.create(r);
if (q === $undefined)
q = 0;
if (q > $Reader.recursionLimit)
throw $Error("max depth exceeded");
var c, m, v;
if (l === $undefined)
c = r.len;
else {
c = r.pos + l;
if (c > r.len)
throw $RangeError("index out of range");
l = r.len;
r.len = c;
}
m = g || new $root.turngraph.v1.ListModelsResponse();
while (r.pos < c) {
var s = r.pos;
var t = r.tag();
if (t === z) {
z = $undefined;
break;
}
var u = t & 7;
switch (t >>>= 3) {
case 1: {
if (u !== 2)
break;
if (!(m.models && m.models.length))
m.models = [];
m.models.push($root.turngraph.v1.ModelInfo.decode(r, r.size(), $undefined, q + 1));
continue;
}
case 2: {
if (u !== 2)
break;
if ((v = r.stringVerify()).length)
m.nextPageToken = v;
else
delete m.nextPageToken;
continue;
}
}
r.skipType(u, q, t);
if (!r.discardUnknown) {
$util.makeProp(m, "$unknowns", false);
(m.$unknowns || (m.$unknowns = [])).push(r.raw(s, r.pos));
}
}
if (l !== $undefined) {
if (r.pos !== c)
throw $RangeError("index out of range");
r.len = l;
}
if (z !== $undefined)
throw $Error("missing end group");
return m;
};
return ListModelsResponse;
})();
v1.SuggestModelsRequest = (function() {
var SuggestModelsRequest = function (p) {
this.languages = [];
if (p)
for (var ks = $Object.keys(p), i = 0; i < ks.length; ++i)
if (p[ks[i]] != null && ks[i] !== "__proto__")
this[ks[i]] = p[ks[i]];
};
SuggestModelsRequest.prototype.purpose = "";
SuggestModelsRequest.prototype.minTokensPerSecond = 0;
SuggestModelsRequest.prototype.maxBytes = 0;
SuggestModelsRequest.prototype.languages = $util.emptyArray;
SuggestModelsRequest.encode = function (m, w, q) {
if (!w)
w = $Writer.create();
if (q === $undefined)
q = 0;
if (q > $util.recursionLimit)
throw $Error("max depth exceeded");
if (m.purpose != null && $Object.hasOwnProperty.call(m, "purpose") && m.purpose !== "")
w.uint32(10).string(m.purpose);
if (m.minTokensPerSecond != null && $Object.hasOwnProperty.call(m, "minTokensPerSecond") && !$Object.is(m.minTokensPerSecond, 0))
w.uint32(17).double(m.minTokensPerSecond);
if (m.maxBytes != null && $Object.hasOwnProperty.call(m, "maxBytes") && !$Object.is(m.maxBytes, 0))
w.uint32(25).double(m.maxBytes);
if (m.languages != null && m.languages.length) {
for (var i = 0; i < m.languages.length; ++i)
w.uint32(34).string(m.languages[i]);
}
if (m.$unknowns != null && $Object.hasOwnProperty.call(m, "$unknowns"))
for (var i = 0; i < m.$unknowns.length; ++i)
w.raw(m.$unknowns[i]);
return w;
};
SuggestModelsRequest.decode = function (r, l, z, q, g) {
if (!(r instanceof $Reader))
r = $Reader.create(r);
if (q === $undefined)
q = 0;
if (q > $Reader.recursionLimit)
throw $Error("max depth exceeded");
var c, m, v;
if (l === $undefined)
c = r.len;
else {
c = r.pos + l;
if (c > r.len)
throw $RangeError("index out of range");
l = r.len;
r.len = c;
}
m = g || new $root.turngraph.v1.SuggestModelsRequest();
while (r.pos < c) {
var s = r.pos;
var t = r.tag();
if (t === z) {
z = $undefined;
break;
}
var u = t & 7;
switch (t >>>= 3) {
case 1: {
if (u !== 2)
break;
if ((v = r.stringVerify()).length)
m.purpose = v;
else
delete m.purpose;
continue;
}
case 2: {
if (u !== 1)
break;
if (!$Object.is(v = r.double(), 0))
m.minTokensPerSecond = v;
else
delete m.minTokensPerSecond;
continue;
}
case 3: {
if (u !== 1)
break;
if (!$Object.is(v = r.double(), 0))
m.maxBytes = v;
else
delete m.maxBytes;
continue;
}
case 4: {
if (u !== 2)
break;
if (!(m.languages && m.languages.length))
m.languages = [];
m.languages.push(r.stringVerify());
continue;
}
}
r.skipType(u, q, t);
if (!r.discardUnknown) {
$util.makeProp(m, "$unknowns", false);
(m.$unknowns || (m.$unknowns = [])).push(r.raw(s, r.pos));
}
}
if (l !== $undefined) {
if (r.pos !== c)
throw $RangeError("index out of range");
r.len = l;
}
if (z !== $undefined)
throw $Error("missing end group");
return m;
};
return SuggestModelsRequest;
})();
v1.MachineInfo = (function() {
var MachineInfo = function (p) {
this.cards = [];
if (p)
for (var ks = $Object.keys(p), i = 0; i < ks.length; ++i)
if (p[ks[i]] != null && ks[i] !== "__proto__")
this[ks[i]] = p[ks[i]];
};
MachineInfo.prototype.memoryBytes = 0;
MachineInfo.prototype.freeMemoryBytes = 0;
MachineInfo.prototype.cards = $util.emptyArray;
MachineInfo.prototype.cardMemoryBytes = 0;
MachineInfo.prototype.freeCardMemoryBytes = 0;
MachineInfo.prototype.cores = 0;
MachineInfo.prototype.bandwidthBytesPerSecond = 0;
MachineInfo.prototype.problem = "";
MachineInfo.prototype.freeDiskBytes = 0;
MachineInfo.encode = function (m, w, q) {
if (!w)
w = $Writer.create();
if (q === $undefined)
q = 0;
if (q > $util.recursionLimit)
throw $Error("max depth exceeded");
if (m.memoryBytes != null && $Object.hasOwnProperty.call(m, "memoryBytes") && !$Object.is(m.memoryBytes, 0))
w.uint32(9).double(m.memoryBytes);
if (m.freeMemoryBytes != null && $Object.hasOwnProperty.call(m, "freeMemoryBytes") && !$Object.is(m.freeMemoryBytes, 0))
w.uint32(17).double(m.freeMemoryBytes);
if (m.cards != null && m.cards.length) {
for (var i = 0; i < m.cards.length; ++i)
w.uint32(26).string(m.cards[i]);
}
if (m.cardMemoryBytes != null && $Object.hasOwnProperty.call(m, "cardMemoryBytes") && !$Object.is(m.cardMemoryBytes, 0))
w.uint32(33).double(m.cardMemoryBytes);
if (m.freeCardMemoryBytes != null && $Object.hasOwnProperty.call(m, "freeCardMemoryBytes") && !$Object.is(m.freeCardMemoryBytes, 0))
w.uint32(41).double(m.freeCardMemoryBytes);
if (m.cores != null && $Object.hasOwnProperty.call(m, "cores") && m.cores !== 0)
w.uint32(48).uint32(m.cores);
if (m.bandwidthBytesPerSecond != null && $Object.hasOwnProperty.call(m, "bandwidthBytesPerSecond") && !$Object.is(m.bandwidthBytesPerSecond, 0))
w.uint32(57).double(m.bandwidthBytesPerSecond);
if (m.problem != null && $Object.hasOwnProperty.call(m, "problem") && m.problem !== "")
w.uint32(66).string(m.problem);
if (m.freeDiskBytes != null && $Object.hasOwnProperty.call(m, "freeDiskBytes") && !$Object.is(m.freeDiskBytes, 0))
w.uint32(73).double(m.freeDiskBytes);
if (m.$unknowns != null && $Object.hasOwnProperty.call(m, "$unknowns"))
for (var i = 0; i < m.$unknowns.length; ++i)
w.raw(m.$unknowns[i]);
return w;
};
MachineInfo.decode = function (r, l, z, q, g) {
if (!(r instanceof $Reader))
r = $Reader.create(r);
if (q === $undefined)
q = 0;
if (q > $Reader.recursionLimit)
throw $Error("max depth exceeded");
var c, m, v;
if (l === $undefined)
c = r.len;
else {
c = r.pos + l;
if (c > r.len)
throw $RangeError("index out of range");
l = r.len;
r.len = c;
}
m = g || new $root.turngraph.v1.MachineInfo();
while (r.pos < c) {
var s = r.pos;
var t = r.tag();
if (t === z) {
z = $undefined;
break;
}
var u = t & 7;
switch (t >>>= 3) {
case 1: {
if (u !== 1)
break;
if (!$Object.is(v = r.double(), 0))
m.memoryBytes = v;
else
delete m.memoryBytes;
continue;
}
case 2: {
if (u !== 1)
break;
if (!$Object.is(v = r.double(), 0))
m.freeMemoryBytes = v;
else
delete m.freeMemoryBytes;
continue;
}
case 3: {
if (u !== 2)
break;
if (!(m.cards && m.cards.length))
m.cards = [];
m.cards.push(r.stringVerify());
continue;
}
case 4: {
if (u !== 1)
break;
if (!$Object.is(v = r.double(), 0))
m.cardMemoryBytes = v;
else
delete m.cardMemoryBytes;
continue;
}
case 5: {
if (u !== 1)
break;
if (!$Object.is(v = r.double(), 0))
m.freeCardMemoryBytes = v;
else
delete m.freeCardMemoryBytes;
continue;
}
case 6: {
if (u !== 0)
break;
if (v = r.uint32())
m.cores = v;
else
delete m.cores;
continue;
}
case 7: {
if (u !== 1)
break;
if (!$Object.is(v = r.double(), 0))
m.bandwidthBytesPerSecond = v;
else
delete m.bandwidthBytesPerSecond;
continue;
}
case 8: {
if (u !== 2)
break;
if ((v = r.stringVerify()).length)
m.problem = v;
else
delete m.problem;
continue;
}
case 9: {
if (u !== 1)
break;
if (!$Object.is(v = r.double(), 0))
m.freeDiskBytes = v;
else
delete m.freeDiskBytes;
continue;
}
}
r.skipType(u, q, t);
if (!r.discardUnknown) {
$util.makeProp(m, "$unknowns", false);
(m.$unknowns || (m.$unknowns = [])).push(r.raw(s, r.pos));
}
}
if (l !== $undefined) {
if (r.pos !== c)
throw $RangeError("index out of range");
r.len = l;
}
if (z !== $undefined)
throw $Error("missing end group");
return m;
};
return MachineInfo;
})();
v1.SuggestedModel = (function() {
var SuggestedModel = function (p) {
if (p)
for (var ks = $Object.keys(p), i = 0; i < ks.length; ++i)
if (p[ks[i]] != null && ks[i] !== "__proto__")
this[ks[i]] = p[ks[i]];
};
SuggestedModel.prototype.name = "";
SuggestedModel.prototype.variant = "";
SuggestedModel.prototype.status = 0;
SuggestedModel.prototype.downloadBytes = 0;
SuggestedModel.prototype.memoryBytes = 0;
SuggestedModel.prototype.tokensPerSecond = 0;
SuggestedModel.prototype.why = "";
SuggestedModel.encode = function (m, w, q) {
if (!w)
w = $Writer.create();
if (q === $undefined)
q = 0;
if (q > $util.recursionLimit)
throw $Error("max depth exceeded");
if (m.name != null && $Object.hasOwnProperty.call(m, "name") && m.name !== "")
w.uint32(10).string(m.name);
if (m.variant != null && $Object.hasOwnProperty.call(m, "variant") && m.variant !== "")
w.uint32(18).string(m.variant);
if (m.status != null && $Object.hasOwnProperty.call(m, "status") && m.status !== 0)
w.uint32(24).int32(m.status);
if (m.downloadBytes != null && $Object.hasOwnProperty.call(m, "downloadBytes") && !$Object.is(m.downloadBytes, 0))
w.uint32(33).double(m.downloadBytes);
if (m.memoryBytes != null && $Object.hasOwnProperty.call(m, "memoryBytes") && !$Object.is(m.memoryBytes, 0))
w.uint32(41).double(m.memoryBytes);
if (m.tokensPerSecond != null && $Object.hasOwnProperty.call(m, "tokensPerSecond") && !$Object.is(m.tokensPerSecond, 0))
w.uint32(49).double(m.tokensPerSecond);
if (m.why != null && $Object.hasOwnProperty.call(m, "why") && m.why !== "")
w.uint32(58).string(m.why);
if (m.$unknowns != null && $Object.hasOwnProperty.call(m, "$unknowns"))
for (var i = 0; i < m.$unknowns.length; ++i)
w.raw(m.$unknowns[i]);
return w;
};
SuggestedModel.decode = function (r, l, z, q, g) {
if (!(r instanceof $Reader))
r = $Reader.create(r);
if (q === $undefined)
q = 0;
if (q > $Reader.recursionLimit)
throw $Error("max depth exceeded");
var c, m, v;
if (l === $undefined)
c = r.len;
else {
c = r.pos + l;
if (c > r.len)
throw $RangeError("index out of range");
l = r.len;
r.len = c;
}
m = g || new $root.turngraph.v1.SuggestedModel();
while (r.pos < c) {
var s = r.pos;
var t = r.tag();
if (t === z) {
z = $undefined;
break;
}
var u = t & 7;
switch (t >>>= 3) {
case 1: {
if (u !== 2)
break;
if ((v = r.stringVerify()).length)
m.name = v;
else
delete m.name;
continue;
}
case 2: {
if (u !== 2)
break;
if ((v = r.stringVerify()).length)
m.variant = v;
else
delete m.variant;
continue;
}
case 3: {
if (u !== 0)
break;
if (v = r.int32())
m.status = v;
else
delete m.status;
continue;
}
case 4: {
if (u !== 1)
break;
if (!$Object.is(v = r.double(), 0))
m.downloadBytes = v;
else
delete m.downloadBytes;
continue;
}
case 5: {
if (u !== 1)
break;
if (!$Object.is(v = r.double(), 0))
m.memoryBytes = v;
else
delete m.memoryBytes;
continue;
}
case 6: {
if (u !== 1)
break;
if (!$Object.is(v = r.double(), 0))
m.tokensPerSecond = v;
else
delete m.tokensPerSecond;
continue;
}
case 7: {
if (u !== 2)
break;
if ((v = r.stringVerify()).length)
m.why = v;
else
delete m.why;
continue;
}
}
r.skipType(u, q, t);
if (!r.discardUnknown) {
$util.makeProp(m, "$unknowns", false);
(m.$unknowns || (m.$unknowns = [])).push(r.raw(s, r.pos));
}
}
if (l !== $undefined) {
if (r.pos !== c)
throw $RangeError("index out of range");
r.len = l;
}
if (z !== $undefined)
throw $Error("missing end group");
return m;
};
return SuggestedModel;
})();
v1.LeftOutModel = (function() {
var LeftOutModel = function (p) {
if (p)
for (var ks = $Object.keys(p), i = 0; i < ks.length; ++i)
if (p[ks[i]] != null && ks[i] !== "__proto__")
this[ks[i]] = p[ks[i]];
};
LeftOutModel.prototype.name = "";
LeftOutModel.prototype.why = "";
LeftOutModel.encode = function (m, w, q) {
if (!w)
w = $Writer.create();
if (q === $undefined)
q = 0;
if (q > $util.recursionLimit)
throw $Error("max depth exceeded");
if (m.name != null && $Object.hasOwnProperty.call(m, "name") && m.name !== "")
w.uint32(10).string(m.name);
if (m.why != null && $Object.hasOwnProperty.call(m, "why") && m.why !== "")
w.uint32(18).string(m.why);
if (m.$unknowns != null && $Object.hasOwnProperty.call(m, "$unknowns"))
for (var i = 0; i < m.$unknowns.length; ++i)
w.raw(m.$unknowns[i]);
return w;
};
LeftOutModel.decode = function (r, l, z, q, g) {
if (!(r instanceof $Reader))
r = $Reader.create(r);
if (q === $undefined)
q = 0;
if (q > $Reader.recursionLimit)
throw $Error("max depth exceeded");
var c, m, v;
if (l === $undefined)
c = r.len;
else {
c = r.pos + l;
if (c > r.len)
throw $RangeError("index out of range");
l = r.len;
r.len = c;
}
m = g || new $root.turngraph.v1.LeftOutModel();
while (r.pos < c) {
var s = r.pos;
var t = r.tag();
if (t === z) {
z = $undefined;
break;
}
var u = t & 7;
switch (t >>>= 3) {
case 1: {
if (u !== 2)
break;
if ((v = r.stringVerify()).length)
m.name = v;
else
delete m.name;
continue;
}
case 2: {
if (u !== 2)
break;
if ((v = r.stringVerify()).length)
m.why = v;
else
delete m.why;
continue;
}
}
r.skipType(u, q, t);
if (!r.discardUnknown) {
$util.makeProp(m, "$unknowns", false);
(m.$unknowns || (m.$unknowns = [])).push(r.raw(s, r.pos));
}
}
if (l !== $undefined) {
if (r.pos !== c)
throw $RangeError("index out of range");
r.len = l;
}
if (z !== $undefined)
throw $Error("missing end group");
return m;
};
return LeftOutModel;
})();
v1.SuggestModelsResponse = (function() {
var SuggestModelsResponse = function (p) {
this.models = [];
this.leftOut = [];
if (p)
for (var ks = $Object.keys(p), i = 0; i < ks.length; ++i)
if (p[ks[i]] != null && ks[i] !== "__proto__")
this[ks[i]] = p[ks[i]];
};
SuggestModelsResponse.prototype.machine = null;
SuggestModelsResponse.prototype.models = $util.emptyArray;
SuggestModelsResponse.prototype.leftOut = $util.emptyArray;
SuggestModelsResponse.prototype.more = 0;
SuggestModelsResponse.encode = function (m, w, q) {
if (!w)
w = $Writer.create();
if (q === $undefined)
q = 0;
if (q > $util.recursionLimit)
throw $Error("max depth exceeded");
if (m.machine != null && $Object.hasOwnProperty.call(m, "machine"))
$root.turngraph.v1.MachineInfo.encode(m.machine, w.uint32(10).fork(), q + 1).ldelim();
if (m.models != null && m.models.length) {
for (var i = 0; i < m.models.length; ++i)
$root.turngraph.v1.SuggestedModel.encode(m.models[i], w.uint32(18).fork(), q + 1).ldelim();
}
if (m.leftOut != null && m.leftOut.length) {
for (var i = 0; i < m.leftOut.length; ++i)
$root.turngraph.v1.LeftOutModel.encode(m.leftOut[i], w.uint32(26).fork(), q + 1).ldelim();
}
if (m.more != null && $Object.hasOwnProperty.call(m, "more") && m.more !== 0)
w.uint32(32).uint32(m.more);
if (m.$unknowns != null && $Object.hasOwnProperty.call(m, "$unknowns"))
for (var i = 0; i < m.$unknowns.length; ++i)
w.raw(m.$unknowns[i]);
return w;
};
SuggestModelsResponse.decode = function (r, l, z, q, g) {
if (!(r instanceof $Reader))
r = $Reader.create(r);
if (q === $undefined)
q = 0;
if (q > $Reader.recursionLimit)
throw $Error("max depth exceeded");
var c, m, v;
if (l === $undefined)
c = r.len;
else {
c = r.pos + l;
if (c > r.len)
throw $RangeError("index out of range");
l = r.len;
r.len = c;
}
m = g || new $root.turngraph.v1.SuggestModelsResponse();
while (r.pos < c) {
var s = r.pos;
var t = r.tag();
if (t === z) {
z = $undefined;
break;
}
var u = t & 7;
switch (t >>>= 3) {
case 1: {
if (u !== 2)
break;
m.machine = $root.turngraph.v1.MachineInfo.decode(r, r.size(), $undefined, q + 1, m.machine);
continue;
}
case 2: {
if (u !== 2)
break;
if (!(m.models && m.models.length))
m.models = [];
m.models.push($root.turngraph.v1.SuggestedModel.decode(r, r.size(), $undefined, q + 1));
continue;
}
case 3: {
if (u !== 2)
break;
if (!(m.leftOut && m.leftOut.length))
m.leftOut = [];
m.leftOut.push($root.turngraph.v1.LeftOutModel.decode(r, r.size(), $undefined, q + 1));
continue;
}
case 4: {
if (u !== 0)
break;
if (v = r.uint32())
m.more = v;
else
delete m.more;
continue;
}
}
r.skipType(u, q, t);
if (!r.discardUnknown) {
$util.makeProp(m, "$unknowns", false);
(m.$unknowns || (m.$unknowns = [])).push(r.raw(s, r.pos));
}
}
if (l !== $undefined) {
if (r.pos !== c)
throw $RangeError("index out of range");
r.len = l;
}
if (z !== $undefined)
throw $Error("missing end group");
return m;
};
return SuggestModelsResponse;
})();
v1.DownloadModelRequest = (function() {
var DownloadModelRequest = function (p) {
if (p)
for (var ks = $Object.keys(p), i = 0; i < ks.length; ++i)
if (p[ks[i]] != null && ks[i] !== "__proto__")
this[ks[i]] = p[ks[i]];
};
DownloadModelRequest.prototype.modelName = "";
DownloadModelRequest.encode = function (m, w, q) {
if (!w)
w = $Writer.create();
if (q === $undefined)
q = 0;
if (q > $util.recursionLimit)
throw $Error("max depth exceeded");
if (m.modelName != null && $Object.hasOwnProperty.call(m, "modelName") && m.modelName !== "")
w.uint32(10).string(m.modelName);
if (m.$unknowns != null && $Object.hasOwnProperty.call(m, "$unknowns"))
for (var i = 0; i < m.$unknowns.length; ++i)
w.raw(m.$unknowns[i]);
return w;
};
DownloadModelRequest.decode = function (r, l, z, q, g) {
if (!(r instanceof $Reader))
r = $Reader.create(r);
if (q === $undefined)
q = 0;
if (q > $Reader.recursionLimit)
throw $Error("max depth exceeded");
var c, m, v;
if (l === $undefined)
c = r.len;
else {
c = r.pos + l;
if (c > r.len)
throw $RangeError("index out of range");
l = r.len;
r.len = c;
}
m = g || new $root.turngraph.v1.DownloadModelRequest();
while (r.pos < c) {
var s = r.pos;
var t = r.tag();
if (t === z) {
z = $undefined;
break;
}
var u = t & 7;
switch (t >>>= 3) {
case 1: {
if (u !== 2)
break;
if ((v = r.stringVerify()).length)
m.modelName = v;
else
delete m.modelName;
continue;
}
}
r.skipType(u, q, t);
if (!r.discardUnknown) {
$util.makeProp(m, "$unknowns", false);
(m.$unknowns || (m.$unknowns = [])).push(r.raw(s, r.pos));
}
}
if (l !== $undefined) {
if (r.pos !== c)
throw $RangeError("index out of range");
r.len = l;
}
if (z !== $undefined)
throw $Error("missing end group");
return m;
};
return DownloadModelRequest;
})();
v1.DownloadModelResponse = (function() {
var DownloadModelResponse = function (p) {
if (p)
for (var ks = $Object.keys(p), i = 0; i < ks.length; ++i)
if (p[ks[i]] != null && ks[i] !== "__proto__")
this[ks[i]] = p[ks[i]];
};
DownloadModelResponse.prototype.sizeBytes = 0;
DownloadModelResponse.encode = function (m, w, q) {
if (!w)
w = $Writer.create();
if (q === $undefined)
q = 0;
if (q > $util.recursionLimit)
throw $Error("max depth exceeded");
if (m.sizeBytes != null && $Object.hasOwnProperty.call(m, "sizeBytes") && !$Object.is(m.sizeBytes, 0))
w.uint32(9).double(m.sizeBytes);
if (m.$unknowns != null && $Object.hasOwnProperty.call(m, "$unknowns"))
for (var i = 0; i < m.$unknowns.length; ++i)
w.raw(m.$unknowns[i]);
return w;
};
DownloadModelResponse.decode = function (r, l, z, q, g) {
if (!(r instanceof $Reader))
r = $Reader.create(r);
if (q === $undefined)
q = 0;
if (q > $Reader.recursionLimit)
throw $Error("max depth exceeded");
var c, m, v;
if (l === $undefined)
c = r.len;
else {
c = r.pos + l;
if (c > r.len)
throw $RangeError("index out of range");
l = r.len;
r.len = c;
}
m = g || new $root.turngraph.v1.DownloadModelResponse();
while (r.pos < c) {
var s = r.pos;
var t = r.tag();
if (t === z) {
z = $undefined;
break;
}
var u = t & 7;
switch (t >>>= 3) {
case 1: {
if (u !== 1)
break;
if (!$Object.is(v = r.double(), 0))
m.sizeBytes = v;
else
delete m.sizeBytes;
continue;
}
}
r.skipType(u, q, t);
if (!r.discardUnknown) {
$util.makeProp(m, "$unknowns", false);
(m.$unknowns || (m.$unknowns = [])).push(r.raw(s, r.pos));
}
}
if (l !== $undefined) {
if (r.pos !== c)
throw $RangeError("index out of range");
r.len = l;
}
if (z !== $undefined)
throw $Error("missing end group");
return m;
};
return DownloadModelResponse;
})();
v1.CancelDownloadRequest = (function() {
var CancelDownloadRequest = function (p) {
if (p)
for (var ks = $Object.keys(p), i = 0; i < ks.length; ++i)
if (p[ks[i]] != null && ks[i] !== "__proto__")
this[ks[i]] = p[ks[i]];
};
CancelDownloadRequest.prototype.modelName = "";
CancelDownloadRequest.encode = function (m, w, q) {
if (!w)
w = $Writer.create();
if (q === $undefined)
q = 0;
if (q > $util.recursionLimit)
throw $Error("max depth exceeded");
if (m.modelName != null && $Object.hasOwnProperty.call(m, "modelName") && m.modelName !== "")
w.uint32(10).string(m.modelName);
if (m.$unknowns != null && $Object.hasOwnProperty.call(m, "$unknowns"))
for (var i = 0; i < m.$unknowns.length; ++i)
w.raw(m.$unknowns[i]);
return w;
};
CancelDownloadRequest.decode = function (r, l, z, q, g) {
if (!(r instanceof $Reader))
r = $Reader.create(r);
if (q === $undefined)
q = 0;
if (q > $Reader.recursionLimit)
throw $Error("max depth exceeded");
var c, m, v;
if (l === $undefined)
c = r.len;
else {
c = r.pos + l;
if (c > r.len)
throw $RangeError("index out of range");
l = r.len;
r.len = c;
}
m = g || new $root.turngraph.v1.CancelDownloadRequest();
while (r.pos < c) {
var s = r.pos;
var t = r.tag();
if (t === z) {
z = $undefined;
break;
}
var u = t & 7;
switch (t >>>= 3) {
case 1: {
if (u !== 2)
break;
if ((v = r.stringVerify()).length)
m.modelName = v;
else
delete m.modelName;
continue;
}
}
r.skipType(u, q, t);
if (!r.discardUnknown) {
$util.makeProp(m, "$unknowns", false);
(m.$unknowns || (m.$unknowns = [])).push(r.raw(s, r.pos));
}
}
if (l !== $undefined) {
if (r.pos !== c)
throw $RangeError("index out of range");
r.len = l;
}
if (z !== $undefined)
throw $Error("missing end group");
return m;
};
return CancelDownloadRequest;
})();
v1.LoadModelRequest = (function() {
var LoadModelRequest = function (p) {
if (p)
for (var ks = $Object.keys(p), i = 0; i < ks.length; ++i)
if (p[ks[i]] != null && ks[i] !== "__proto__")
this[ks[i]] = p[ks[i]];
};
LoadModelRequest.prototype.modelName = "";
LoadModelRequest.encode = function (m, w, q) {
if (!w)
w = $Writer.create();
if (q === $undefined)
q = 0;
if (q > $util.recursionLimit)
throw $Error("max depth exceeded");
if (m.modelName != null && $Object.hasOwnProperty.call(m, "modelName") && m.modelName !== "")
w.uint32(10).string(m.modelName);
if (m.$unknowns != null && $Object.hasOwnProperty.call(m, "$unknowns"))
for (var i = 0; i < m.$unknowns.length; ++i)
w.raw(m.$unknowns[i]);
return w;
};
LoadModelRequest.decode = function (r, l, z, q, g) {
if (!(r instanceof $Reader))
r = $Reader.create(r);
if (q === $undefined)
q = 0;
if (q > $Reader.recursionLimit)
throw $Error("max depth exceeded");
var c, m, v;
if (l === $undefined)
c = r.len;
else {
c = r.pos + l;
if (c > r.len)
throw $RangeError("index out of range");
l = r.len;
r.len = c;
}
m = g || new $root.turngraph.v1.LoadModelRequest();
while (r.pos < c) {
var s = r.pos;
var t = r.tag();
if (t === z) {
z = $undefined;
break;
}
var u = t & 7;
switch (t >>>= 3) {
case 1: {
if (u !== 2)
break;
if ((v = r.stringVerify()).length)
m.modelName = v;
else
delete m.modelName;
continue;
}
}
r.skipType(u, q, t);
if (!r.discardUnknown) {
$util.makeProp(m, "$unknowns", false);
(m.$unknowns || (m.$unknowns = [])).push(r.raw(s, r.pos));
}
}
if (l !== $undefined) {
if (r.pos !== c)
throw $RangeError("index out of range");
r.len = l;
}
if (z !== $undefined)
throw $Error("missing end group");
return m;
};
return LoadModelRequest;
})();
v1.LoadModelResponse = (function() {
var LoadModelResponse = function (p) {
if (p)
for (var ks = $Object.keys(p), i = 0; i < ks.length; ++i)
if (p[ks[i]] != null && ks[i] !== "__proto__")
this[ks[i]] = p[ks[i]];
};
LoadModelResponse.encode = function (m, w, q) {
if (!w)
w = $Writer.create();
if (q === $undefined)
q = 0;
if (q > $util.recursionLimit)
throw $Error("max depth exceeded");
if (m.$unknowns != null && $Object.hasOwnProperty.call(m, "$unknowns"))
for (var i = 0; i < m.$unknowns.length; ++i)
w.raw(m.$unknowns[i]);
return w;
};
LoadModelResponse.decode = function (r, l, z, q, g) {
if (!(r instanceof $Reader))
r = $Reader.create(r);
if (q === $undefined)
q = 0;
if (q > $Reader.recursionLimit)
throw $Error("max depth exceeded");
var c, m;
if (l === $undefined)
c = r.len;
else {
c = r.pos + l;
if (c > r.len)
throw $RangeError("index out of range");
l = r.len;
r.len = c;
}
m = g || new $root.turngraph.v1.LoadModelResponse();
while (r.pos < c) {
var s = r.pos;
var t = r.tag();
if (t === z) {
z = $undefined;
break;
}
r.skipType(t & 7, q, t);
if (!r.discardUnknown) {
$util.makeProp(m, "$unknowns", false);
(m.$unknowns || (m.$unknowns = [])).push(r.raw(s, r.pos));
}
}
if (l !== $undefined) {
if (r.pos !== c)
throw $RangeError("index out of range");
r.len = l;
}
if (z !== $undefined)
throw $Error("missing end group");
return m;
};
return LoadModelResponse;
})();
v1.UnloadModelRequest = (function() {
var UnloadModelRequest = function (p) {
if (p)
for (var ks = $Object.keys(p), i = 0; i < ks.length; ++i)
if (p[ks[i]] != null && ks[i] !== "__proto__")
this[ks[i]] = p[ks[i]];
};
UnloadModelRequest.prototype.modelName = "";
UnloadModelRequest.encode = function (m, w, q) {
if (!w)
w = $Writer.create();
if (q === $undefined)
q = 0;
if (q > $util.recursionLimit)
throw $Error("max depth exceeded");
if (m.modelName != null && $Object.hasOwnProperty.call(m, "modelName") && m.modelName !== "")
w.uint32(10).string(m.modelName);
if (m.$unknowns != null && $Object.hasOwnProperty.call(m, "$unknowns"))
for (var i = 0; i < m.$unknowns.length; ++i)
w.raw(m.$unknowns[i]);
return w;
};
UnloadModelRequest.decode = function (r, l, z, q, g) {
if (!(r instanceof $Reader))
r = $Reader.create(r);
if (q === $undefined)
q = 0;
if (q > $Reader.recursionLimit)
throw $Error("max depth exceeded");
var c, m, v;
if (l === $undefined)
c = r.len;
else {
c = r.pos + l;
if (c > r.len)
throw $RangeError("index out of range");
l = r.len;
r.len = c;
}
m = g || new $root.turngraph.v1.UnloadModelRequest();
while (r.pos < c) {
var s = r.pos;
var t = r.tag();
if (t === z) {
z = $undefined;
break;
}
var u = t & 7;
switch (t >>>= 3) {
case 1: {
if (u !== 2)
break;
if ((v = r.stringVerify()).length)
m.modelName = v;
else
delete m.modelName;
continue;
}
}
r.skipType(u, q, t);
if (!r.discardUnknown) {
$util.makeProp(m, "$unknowns", false);
(m.$unknowns || (m.$unknowns = [])).push(r.raw(s, r.pos));
}
}
if (l !== $undefined) {
if (r.pos !== c)
throw $RangeError("index out of range");
r.len = l;
}
if (z !== $undefined)
throw $Error("missing end group");
return m;
};
return UnloadModelRequest;
})();
v1.DeleteModelRequest = (function() {
var DeleteModelRequest = function (p) {
if (p)
for (var ks = $Object.keys(p), i = 0; i < ks.length; ++i)
if (p[ks[i]] != null && ks[i] !== "__proto__")
this[ks[i]] = p[ks[i]];
};
DeleteModelRequest.prototype.modelName = "";
DeleteModelRequest.encode = function (m, w, q) {
if (!w)
w = $Writer.create();
if (q === $undefined)
q = 0;
if (q > $util.recursionLimit)
throw $Error("max depth exceeded");
if (m.modelName != null && $Object.hasOwnProperty.call(m, "modelName") && m.modelName !== "")
w.uint32(10).string(m.modelName);
if (m.$unknowns != null && $Object.hasOwnProperty.call(m, "$unknowns"))
for (var i = 0; i < m.$unknowns.length; ++i)
w.raw(m.$unknowns[i]);
return w;
};
DeleteModelRequest.decode = function (r, l, z, q, g) {
if (!(r instanceof $Reader))
r = $Reader.create(r);
if (q === $undefined)
q = 0;
if (q > $Reader.recursionLimit)
throw $Error("max depth exceeded");
var c, m, v;
if (l === $undefined)
c = r.len;
else {
c = r.pos + l;
if (c > r.len)
throw $RangeError("index out of range");
l = r.len;
r.len = c;
}
m = g || new $root.turngraph.v1.DeleteModelRequest();
while (r.pos < c) {
var s = r.pos;
var t = r.tag();
if (t === z) {
z = $undefined;
break;
}
var u = t & 7;
switch (t >>>= 3) {
case 1: {
if (u !== 2)
break;
if ((v = r.stringVerify()).length)
m.modelName = v;
else
delete m.modelName;
continue;
}
}
r.skipType(u, q, t);
if (!r.discardUnknown) {
$util.makeProp(m, "$unknowns", false);
(m.$unknowns || (m.$unknowns = [])).push(r.raw(s, r.pos));
}
}
if (l !== $undefined) {
if (r.pos !== c)
throw $RangeError("index out of range");
r.len = l;
}
if (z !== $undefined)
throw $Error("missing end group");
return m;
};
return DeleteModelRequest;
})();
v1.ModelProgress = (function() {
var ModelProgress = function (p) {
if (p)
for (var ks = $Object.keys(p), i = 0; i < ks.length; ++i)
if (p[ks[i]] != null && ks[i] !== "__proto__")
this[ks[i]] = p[ks[i]];
};
ModelProgress.prototype.modelName = "";
ModelProgress.prototype.phase = 0;
ModelProgress.prototype.fraction = 0;
ModelProgress.prototype.bytesDone = 0;
ModelProgress.prototype.bytesTotal = 0;
ModelProgress.encode = function (m, w, q) {
if (!w)
w = $Writer.create();
if (q === $undefined)
q = 0;
if (q > $util.recursionLimit)
throw $Error("max depth exceeded");
if (m.modelName != null && $Object.hasOwnProperty.call(m, "modelName") && m.modelName !== "")
w.uint32(10).string(m.modelName);
if (m.phase != null && $Object.hasOwnProperty.call(m, "phase") && m.phase !== 0)
w.uint32(16).int32(m.phase);
if (m.fraction != null && $Object.hasOwnProperty.call(m, "fraction") && !$Object.is(m.fraction, 0))
w.uint32(25).double(m.fraction);
if (m.bytesDone != null && $Object.hasOwnProperty.call(m, "bytesDone") && !$Object.is(m.bytesDone, 0))
w.uint32(33).double(m.bytesDone);
if (m.bytesTotal != null && $Object.hasOwnProperty.call(m, "bytesTotal") && !$Object.is(m.bytesTotal, 0))
w.uint32(41).double(m.bytesTotal);
if (m.$unknowns != null && $Object.hasOwnProperty.call(m, "$unknowns"))
for (var i = 0; i < m.$unknowns.length; ++i)
w.raw(m.$unknowns[i]);
return w;
};
ModelProgress.decode = function (r, l, z, q, g) {
if (!(r instanceof $Reader))
r = $Reader.create(r);
if (q === $undefined)
q = 0;
if (q > $Reader.recursionLimit)
throw $Error("max depth exceeded");
var c, m, v;
if (l === $undefined)
c = r.len;
else {
c = r.pos + l;
if (c > r.len)
throw $RangeError("index out of range");
l = r.len;
r.len = c;
}
m = g || new $root.turngraph.v1.ModelProgress();
while (r.pos < c) {
var s = r.pos;
var t = r.tag();
if (t === z) {
z = $undefined;
break;
}
var u = t & 7;
switch (t >>>= 3) {
case 1: {
if (u !== 2)
break;
if ((v = r.stringVerify()).length)
m.modelName = v;
else
delete m.modelName;
continue;
}
case 2: {
if (u !== 0)
break;
if (v = r.int32())
m.phase = v;
else
delete m.phase;
continue;
}
case 3: {
if (u !== 1)
break;
if (!$Object.is(v = r.double(), 0))
m.fraction = v;
else
delete m.fraction;
continue;
}
case 4: {
if (u !== 1)
break;
if (!$Object.is(v = r.double(), 0))
m.bytesDone = v;
else
delete m.bytesDone;
continue;
}
case 5: {
if (u !== 1)
break;
if (!$Object.is(v = r.double(), 0))
m.bytesTotal = v;
else
delete m.bytesTotal;
continue;
}
}
r.skipType(u, q, t);
if (!r.discardUnknown) {
$util.makeProp(m, "$unknowns", false);
(m.$unknowns || (m.$unknowns = [])).push(r.raw(s, r.pos));
}
}
if (l !== $undefined) {
if (r.pos !== c)
throw $RangeError("index out of range");
r.len = l;
}
if (z !== $undefined)
throw $Error("missing end group");
return m;
};
ModelProgress.Phase = (function() {
var valuesById = $Object.create(null), values = $Object.create(valuesById);
values[valuesById[0] = "DOWNLOADING"] = 0;
values[valuesById[1] = "LOADING"] = 1;
return values;
})();
return ModelProgress;
})();
v1.CreateStringStorageRequest = (function() {
var CreateStringStorageRequest = function (p) {
this.strings = [];
this.keys = [];
this.metadataJson = [];
this.entries = [];
if (p)
for (var ks = $Object.keys(p), i = 0; i < ks.length; ++i)
if (p[ks[i]] != null && ks[i] !== "__proto__")
this[ks[i]] = p[ks[i]];
};
CreateStringStorageRequest.prototype.name = "";
CreateStringStorageRequest.prototype.kind = 0;
CreateStringStorageRequest.prototype.strings = $util.emptyArray;
CreateStringStorageRequest.prototype.keys = $util.emptyArray;
CreateStringStorageRequest.prototype.filePath = "";
CreateStringStorageRequest.prototype.metadataJson = $util.emptyArray;
CreateStringStorageRequest.prototype.persist = false;
CreateStringStorageRequest.prototype.entries = $util.emptyArray;
CreateStringStorageRequest.encode = function (m, w, q) {
if (!w)
w = $Writer.create();
if (q === $undefined)
q = 0;
if (q > $util.recursionLimit)
throw $Error("max depth exceeded");
if (m.name != null && $Object.hasOwnProperty.call(m, "name") && m.name !== "")
w.uint32(10).string(m.name);
if (m.kind != null && $Object.hasOwnProperty.call(m, "kind") && m.kind !== 0)
w.uint32(16).int32(m.kind);
if (m.strings != null && m.strings.length) {
for (var i = 0; i < m.strings.length; ++i)
w.uint32(26).string(m.strings[i]);
}
if (m.keys != null && m.keys.length) {
for (var i = 0; i < m.keys.length; ++i)
w.uint32(34).string(m.keys[i]);
}
if (m.filePath != null && $Object.hasOwnProperty.call(m, "filePath") && m.filePath !== "")
w.uint32(42).string(m.filePath);
if (m.metadataJson != null && m.metadataJson.length) {
for (var i = 0; i < m.metadataJson.length; ++i)
w.uint32(50).string(m.metadataJson[i]);
}
if (m.persist != null && $Object.hasOwnProperty.call(m, "persist") && m.persist !== false)
w.uint32(56).bool(m.persist);
if (m.entries != null && m.entries.length) {
for (var i = 0; i < m.entries.length; ++i)
$root.turngraph.v1.StorageEntry.encode(m.entries[i], w.uint32(66).fork(), q + 1).ldelim();
}
if (m.$unknowns != null && $Object.hasOwnProperty.call(m, "$unknowns"))
for (var i = 0; i < m.$unknowns.length; ++i)
w.raw(m.$unknowns[i]);
return w;
};
CreateStringStorageRequest.decode = function (r, l, z, q, g) {
if (!(r instanceof $Reader))
r = $Reader.create(r);
if (q === $undefined)
q = 0;
if (q > $Reader.recursionLimit)
throw $Error("max depth exceeded");
var c, m, v;
if (l === $undefined)
c = r.len;
else {
c = r.pos + l;
if (c > r.len)
throw $RangeError("index out of range");
l = r.len;
r.len = c;
}
m = g || new $root.turngraph.v1.CreateStringStorageRequest();
while (r.pos < c) {
var s = r.pos;
var t = r.tag();
if (t === z) {
z = $undefined;
break;
}
var u = t & 7;
switch (t >>>= 3) {
case 1: {
if (u !== 2)
break;
if ((v = r.stringVerify()).length)
m.name = v;
else
delete m.name;
continue;
}
case 2: {
if (u !== 0)
break;
if (v = r.int32())
m.kind = v;
else
delete m.kind;
continue;
}
case 3: {
if (u !== 2)
break;
if (!(m.strings && m.strings.length))
m.strings = [];
m.strings.push(r.stringVerify());
continue;
}
case 4: {
if (u !== 2)
break;
if (!(m.keys && m.keys.length))
m.keys = [];
m.keys.push(r.stringVerify());
continue;
}
case 5: {
if (u !== 2)
break;
if ((v = r.stringVerify()).length)
m.filePath = v;
else
delete m.filePath;
continue;
}
case 6: {
if (u !== 2)
break;
if (!(m.metadataJson && m.metadataJson.length))
m.metadataJson = [];
m.metadataJson.push(r.stringVerify());
continue;
}
case 7: {
if (u !== 0)
break;
if (v = r.bool())
m.persist = v;
else
delete m.persist;
continue;
}
case 8: {
if (u !== 2)
break;
if (!(m.entries && m.entries.length))
m.entries = [];
m.entries.push($root.turngraph.v1.StorageEntry.decode(r, r.size(), $undefined, q + 1));
continue;
}
}
r.skipType(u, q, t);
if (!r.discardUnknown) {
$util.makeProp(m, "$unknowns", false);
(m.$unknowns || (m.$unknowns = [])).push(r.raw(s, r.pos));
}
}
if (l !== $undefined) {
if (r.pos !== c)
throw $RangeError("index out of range");
r.len = l;
}
if (z !== $undefined)
throw $Error("missing end group");
return m;
};
CreateStringStorageRequest.Kind = (function() {
var valuesById = $Object.create(null), values = $Object.create(valuesById);
values[valuesById[0] = "LIST"] = 0;
values[valuesById[1] = "MAP"] = 1;
values[valuesById[2] = "MULTIMAP"] = 2;
values[valuesById[3] = "KNOWLEDGE"] = 3;
return values;
})();
return CreateStringStorageRequest;
})();
v1.StorageEntry = (function() {
var StorageEntry = function (p) {
this.keys = [];
if (p)
for (var ks = $Object.keys(p), i = 0; i < ks.length; ++i)
if (p[ks[i]] != null && ks[i] !== "__proto__")
this[ks[i]] = p[ks[i]];
};
StorageEntry.prototype.id = "";
StorageEntry.prototype.text = "";
StorageEntry.prototype.metadataJson = "";
StorageEntry.prototype.keys = $util.emptyArray;
StorageEntry.prototype.always = false;
StorageEntry.encode = function (m, w, q) {
if (!w)
w = $Writer.create();
if (q === $undefined)
q = 0;
if (q > $util.recursionLimit)
throw $Error("max depth exceeded");
if (m.id != null && $Object.hasOwnProperty.call(m, "id") && m.id !== "")
w.uint32(10).string(m.id);
if (m.text != null && $Object.hasOwnProperty.call(m, "text") && m.text !== "")
w.uint32(18).string(m.text);
if (m.metadataJson != null && $Object.hasOwnProperty.call(m, "metadataJson") && m.metadataJson !== "")
w.uint32(26).string(m.metadataJson);
if (m.keys != null && m.keys.length) {
for (var i = 0; i < m.keys.length; ++i)
w.uint32(34).string(m.keys[i]);
}
if (m.always != null && $Object.hasOwnProperty.call(m, "always") && m.always !== false)
w.uint32(40).bool(m.always);
if (m.$unknowns != null && $Object.hasOwnProperty.call(m, "$unknowns"))
for (var i = 0; i < m.$unknowns.length; ++i)
w.raw(m.$unknowns[i]);
return w;
};
StorageEntry.decode = function (r, l, z, q, g) {
if (!(r instanceof $Reader))
r = $Reader.create(r);
if (q === $undefined)
q = 0;
if (q > $Reader.recursionLimit)
throw $Error("max depth exceeded");
var c, m, v;
if (l === $undefined)
c = r.len;
else {
c = r.pos + l;
if (c > r.len)
throw $RangeError("index out of range");
l = r.len;
r.len = c;
}
m = g || new $root.turngraph.v1.StorageEntry();
while (r.pos < c) {
var s = r.pos;
var t = r.tag();
if (t === z) {
z = $undefined;
break;
}
var u = t & 7;
switch (t >>>= 3) {
case 1: {
if (u !== 2)
break;
if ((v = r.stringVerify()).length)
m.id = v;
else
delete m.id;
continue;
}
case 2: {
if (u !== 2)
break;
if ((v = r.stringVerify()).length)
m.text = v;
else
delete m.text;
continue;
}
case 3: {
if (u !== 2)
break;
if ((v = r.stringVerify()).length)
m.metadataJson = v;
else
delete m.metadataJson;
continue;
}
case 4: {
if (u !== 2)
break;
if (!(m.keys && m.keys.length))
m.keys = [];
m.keys.push(r.stringVerify());
continue;
}
case 5: {
if (u !== 0)
break;
if (v = r.bool())
m.always = v;
else
delete m.always;
continue;
}
}
r.skipType(u, q, t);
if (!r.discardUnknown) {
$util.makeProp(m, "$unknowns", false);
(m.$unknowns || (m.$unknowns = [])).push(r.raw(s, r.pos));
}
}
if (l !== $undefined) {
if (r.pos !== c)
throw $RangeError("index out of range");
r.len = l;
}
if (z !== $undefined)
throw $Error("missing end group");
return m;
};
return StorageEntry;
})();
v1.AddKnowledgeRequest = (function() {
var AddKnowledgeRequest = function (p) {
this.entries = [];
if (p)
for (var ks = $Object.keys(p), i = 0; i < ks.length; ++i)
if (p[ks[i]] != null && ks[i] !== "__proto__")
this[ks[i]] = p[ks[i]];
};
AddKnowledgeRequest.prototype.storage = "";
AddKnowledgeRequest.prototype.entries = $util.emptyArray;
AddKnowledgeRequest.encode = function (m, w, q) {
if (!w)
w = $Writer.create();
if (q === $undefined)
q = 0;
if (q > $util.recursionLimit)
throw $Error("max depth exceeded");
if (m.storage != null && $Object.hasOwnProperty.call(m, "storage") && m.storage !== "")
w.uint32(10).string(m.storage);
if (m.entries != null && m.entries.length) {
for (var i = 0; i < m.entries.length; ++i)
$root.turngraph.v1.StorageEntry.encode(m.entries[i], w.uint32(18).fork(), q + 1).ldelim();
}
if (m.$unknowns != null && $Object.hasOwnProperty.call(m, "$unknowns"))
for (var i = 0; i < m.$unknowns.length; ++i)
w.raw(m.$unknowns[i]);
return w;
};
AddKnowledgeRequest.decode = function (r, l, z, q, g) {
if (!(r instanceof $Reader))
r = $Reader.create(r);
if (q === $undefined)
q = 0;
if (q > $Reader.recursionLimit)
throw $Error("max depth exceeded");
var c, m, v;
if (l === $undefined)
c = r.len;
else {
c = r.pos + l;
if (c > r.len)
throw $RangeError("index out of range");
l = r.len;
r.len = c;
}
m = g || new $root.turngraph.v1.AddKnowledgeRequest();
while (r.pos < c) {
var s = r.pos;
var t = r.tag();
if (t === z) {
z = $undefined;
break;
}
var u = t & 7;
switch (t >>>= 3) {
case 1: {
if (u !== 2)
break;
if ((v = r.stringVerify()).length)
m.storage = v;
else
delete m.storage;
continue;
}
case 2: {
if (u !== 2)
break;
if (!(m.entries && m.entries.length))
m.entries = [];
m.entries.push($root.turngraph.v1.StorageEntry.decode(r, r.size(), $undefined, q + 1));
continue;
}
}
r.skipType(u, q, t);
if (!r.discardUnknown) {
$util.makeProp(m, "$unknowns", false);
(m.$unknowns || (m.$unknowns = [])).push(r.raw(s, r.pos));
}
}
if (l !== $undefined) {
if (r.pos !== c)
throw $RangeError("index out of range");
r.len = l;
}
if (z !== $undefined)
throw $Error("missing end group");
return m;
};
return AddKnowledgeRequest;
})();
v1.AddKnowledgeResponse = (function() {
var AddKnowledgeResponse = function (p) {
this.ids = [];
this.warnings = [];
if (p)
for (var ks = $Object.keys(p), i = 0; i < ks.length; ++i)
if (p[ks[i]] != null && ks[i] !== "__proto__")
this[ks[i]] = p[ks[i]];
};
AddKnowledgeResponse.prototype.ids = $util.emptyArray;
AddKnowledgeResponse.prototype.warnings = $util.emptyArray;
AddKnowledgeResponse.encode = function (m, w, q) {
if (!w)
w = $Writer.create();
if (q === $undefined)
q = 0;
if (q > $util.recursionLimit)
throw $Error("max depth exceeded");
if (m.ids != null && m.ids.length) {
for (var i = 0; i < m.ids.length; ++i)
w.uint32(10).string(m.ids[i]);
}
if (m.warnings != null && m.warnings.length) {
for (var i = 0; i < m.warnings.length; ++i)
w.uint32(18).string(m.warnings[i]);
}
if (m.$unknowns != null && $Object.hasOwnProperty.call(m, "$unknowns"))
for (var i = 0; i < m.$unknowns.length; ++i)
w.raw(m.$unknowns[i]);
return w;
};
AddKnowledgeResponse.decode = function (r, l, z, q, g) {
if (!(r instanceof $Reader))
r = $Reader.create(r);
if (q === $undefined)
q = 0;
if (q > $Reader.recursionLimit)
throw $Error("max depth exceeded");
var c, m;
if (l === $undefined)
c = r.len;
else {
c = r.pos + l;
if (c > r.len)
throw $RangeError("index out of range");
l = r.len;
r.len = c;
}
m = g || new $root.turngraph.v1.AddKnowledgeResponse();
while (r.pos < c) {
var s = r.pos;
var t = r.tag();
if (t === z) {
z = $undefined;
break;
}
var u = t & 7;
switch (t >>>= 3) {
case 1: {
if (u !== 2)
break;
if (!(m.ids && m.ids.length))
m.ids = [];
m.ids.push(r.stringVerify());
continue;
}
case 2: {
if (u !== 2)
break;
if (!(m.warnings && m.warnings.length))
m.warnings = [];
m.warnings.push(r.stringVerify());
continue;
}
}
r.skipType(u, q, t);
if (!r.discardUnknown) {
$util.makeProp(m, "$unknowns", false);
(m.$unknowns || (m.$unknowns = [])).push(r.raw(s, r.pos));
}
}
if (l !== $undefined) {
if (r.pos !== c)
throw $RangeError("index out of range");
r.len = l;
}
if (z !== $undefined)
throw $Error("missing end group");
return m;
};
return AddKnowledgeResponse;
})();
v1.RemoveKnowledgeRequest = (function() {
var RemoveKnowledgeRequest = function (p) {
this.ids = [];
if (p)
for (var ks = $Object.keys(p), i = 0; i < ks.length; ++i)
if (p[ks[i]] != null && ks[i] !== "__proto__")
this[ks[i]] = p[ks[i]];
};
RemoveKnowledgeRequest.prototype.storage = "";
RemoveKnowledgeRequest.prototype.ids = $util.emptyArray;
RemoveKnowledgeRequest.encode = function (m, w, q) {
if (!w)
w = $Writer.create();
if (q === $undefined)
q = 0;
if (q > $util.recursionLimit)
throw $Error("max depth exceeded");
if (m.storage != null && $Object.hasOwnProperty.call(m, "storage") && m.storage !== "")
w.uint32(10).string(m.storage);
if (m.ids != null && m.ids.length) {
for (var i = 0; i < m.ids.length; ++i)
w.uint32(18).string(m.ids[i]);
}
if (m.$unknowns != null && $Object.hasOwnProperty.call(m, "$unknowns"))
for (var i = 0; i < m.$unknowns.length; ++i)
w.raw(m.$unknowns[i]);
return w;
};
RemoveKnowledgeRequest.decode = function (r, l, z, q, g) {
if (!(r instanceof $Reader))
r = $Reader.create(r);
if (q === $undefined)
q = 0;
if (q > $Reader.recursionLimit)
throw $Error("max depth exceeded");
var c, m, v;
if (l === $undefined)
c = r.len;
else {
c = r.pos + l;
if (c > r.len)
throw $RangeError("index out of range");
l = r.len;
r.len = c;
}
m = g || new $root.turngraph.v1.RemoveKnowledgeRequest();
while (r.pos < c) {
var s = r.pos;
var t = r.tag();
if (t === z) {
z = $undefined;
break;
}
var u = t & 7;
switch (t >>>= 3) {
case 1: {
if (u !== 2)
break;
if ((v = r.stringVerify()).length)
m.storage = v;
else
delete m.storage;
continue;
}
case 2: {
if (u !== 2)
break;
if (!(m.ids && m.ids.length))
m.ids = [];
m.ids.push(r.stringVerify());
continue;
}
}
r.skipType(u, q, t);
if (!r.discardUnknown) {
$util.makeProp(m, "$unknowns", false);
(m.$unknowns || (m.$unknowns = [])).push(r.raw(s, r.pos));
}
}
if (l !== $undefined) {
if (r.pos !== c)
throw $RangeError("index out of range");
r.len = l;
}
if (z !== $undefined)
throw $Error("missing end group");
return m;
};
return RemoveKnowledgeRequest;
})();
v1.ExportStorageRequest = (function() {
var ExportStorageRequest = function (p) {
if (p)
for (var ks = $Object.keys(p), i = 0; i < ks.length; ++i)
if (p[ks[i]] != null && ks[i] !== "__proto__")
this[ks[i]] = p[ks[i]];
};
ExportStorageRequest.prototype.storage = "";
ExportStorageRequest.encode = function (m, w, q) {
if (!w)
w = $Writer.create();
if (q === $undefined)
q = 0;
if (q > $util.recursionLimit)
throw $Error("max depth exceeded");
if (m.storage != null && $Object.hasOwnProperty.call(m, "storage") && m.storage !== "")
w.uint32(10).string(m.storage);
if (m.$unknowns != null && $Object.hasOwnProperty.call(m, "$unknowns"))
for (var i = 0; i < m.$unknowns.length; ++i)
w.raw(m.$unknowns[i]);
return w;
};
ExportStorageRequest.decode = function (r, l, z, q, g) {
if (!(r instanceof $Reader))
r = $Reader.create(r);
if (q === $undefined)
q = 0;
if (q > $Reader.recursionLimit)
throw $Error("max depth exceeded");
var c, m, v;
if (l === $undefined)
c = r.len;
else {
c = r.pos + l;
if (c > r.len)
throw $RangeError("index out of range");
l = r.len;
r.len = c;
}
m = g || new $root.turngraph.v1.ExportStorageRequest();
while (r.pos < c) {
var s = r.pos;
var t = r.tag();
if (t === z) {
z = $undefined;
break;
}
var u = t & 7;
switch (t >>>= 3) {
case 1: {
if (u !== 2)
break;
if ((v = r.stringVerify()).length)
m.storage = v;
else
delete m.storage;
continue;
}
}
r.skipType(u, q, t);
if (!r.discardUnknown) {
$util.makeProp(m, "$unknowns", false);
(m.$unknowns || (m.$unknowns = [])).push(r.raw(s, r.pos));
}
}
if (l !== $undefined) {
if (r.pos !== c)
throw $RangeError("index out of range");
r.len = l;
}
if (z !== $undefined)
throw $Error("missing end group");
return m;
};
return ExportStorageRequest;
})();
v1.ExportStorageResponse = (function() {
var ExportStorageResponse = function (p) {
this.entries = [];
if (p)
for (var ks = $Object.keys(p), i = 0; i < ks.length; ++i)
if (p[ks[i]] != null && ks[i] !== "__proto__")
this[ks[i]] = p[ks[i]];
};
ExportStorageResponse.prototype.part = 0;
ExportStorageResponse.prototype.of = 0;
ExportStorageResponse.prototype.entries = $util.emptyArray;
ExportStorageResponse.encode = function (m, w, q) {
if (!w)
w = $Writer.create();
if (q === $undefined)
q = 0;
if (q > $util.recursionLimit)
throw $Error("max depth exceeded");
if (m.part != null && $Object.hasOwnProperty.call(m, "part") && m.part !== 0)
w.uint32(8).uint32(m.part);
if (m.of != null && $Object.hasOwnProperty.call(m, "of") && m.of !== 0)
w.uint32(16).uint32(m.of);
if (m.entries != null && m.entries.length) {
for (var i = 0; i < m.entries.length; ++i)
$root.turngraph.v1.StorageEntry.encode(m.entries[i], w.uint32(26).fork(), q + 1).ldelim();
}
if (m.$unknowns != null && $Object.hasOwnProperty.call(m, "$unknowns"))
for (var i = 0; i < m.$unknowns.length; ++i)
w.raw(m.$unknowns[i]);
return w;
};
ExportStorageResponse.decode = function (r, l, z, q, g) {
if (!(r instanceof $Reader))
r = $Reader.create(r);
if (q === $undefined)
q = 0;
if (q > $Reader.recursionLimit)
throw $Error("max depth exceeded");
var c, m, v;
if (l === $undefined)
c = r.len;
else {
c = r.pos + l;
if (c > r.len)
throw $RangeError("index out of range");
l = r.len;
r.len = c;
}
m = g || new $root.turngraph.v1.ExportStorageResponse();
while (r.pos < c) {
var s = r.pos;
var t = r.tag();
if (t === z) {
z = $undefined;
break;
}
var u = t & 7;
switch (t >>>= 3) {
case 1: {
if (u !== 0)
break;
if (v = r.uint32())
m.part = v;
else
delete m.part;
continue;
}
case 2: {
if (u !== 0)
break;
if (v = r.uint32())
m.of = v;
else
delete m.of;
continue;
}
case 3: {
if (u !== 2)
break;
if (!(m.entries && m.entries.length))
m.entries = [];
m.entries.push($root.turngraph.v1.StorageEntry.decode(r, r.size(), $undefined, q + 1));
continue;
}
}
r.skipType(u, q, t);
if (!r.discardUnknown) {
$util.makeProp(m, "$unknowns", false);
(m.$unknowns || (m.$unknowns = [])).push(r.raw(s, r.pos));
}
}
if (l !== $undefined) {
if (r.pos !== c)
throw $RangeError("index out of range");
r.len = l;
}
if (z !== $undefined)
throw $Error("missing end group");
return m;
};
return ExportStorageResponse;
})();
v1.CreateStringStorageResponse = (function() {
var CreateStringStorageResponse = function (p) {
if (p)
for (var ks = $Object.keys(p), i = 0; i < ks.length; ++i)
if (p[ks[i]] != null && ks[i] !== "__proto__")
this[ks[i]] = p[ks[i]];
};
CreateStringStorageResponse.prototype.entries = 0;
CreateStringStorageResponse.encode = function (m, w, q) {
if (!w)
w = $Writer.create();
if (q === $undefined)
q = 0;
if (q > $util.recursionLimit)
throw $Error("max depth exceeded");
if (m.entries != null && $Object.hasOwnProperty.call(m, "entries") && m.entries !== 0)
w.uint32(8).uint32(m.entries);
if (m.$unknowns != null && $Object.hasOwnProperty.call(m, "$unknowns"))
for (var i = 0; i < m.$unknowns.length; ++i)
w.raw(m.$unknowns[i]);
return w;
};
CreateStringStorageResponse.decode = function (r, l, z, q, g) {
if (!(r instanceof $Reader))
r = $Reader.create(r);
if (q === $undefined)
q = 0;
if (q > $Reader.recursionLimit)
throw $Error("max depth exceeded");
var c, m, v;
if (l === $undefined)
c = r.len;
else {
c = r.pos + l;
if (c > r.len)
throw $RangeError("index out of range");
l = r.len;
r.len = c;
}
m = g || new $root.turngraph.v1.CreateStringStorageResponse();
while (r.pos < c) {
var s = r.pos;
var t = r.tag();
if (t === z) {
z = $undefined;
break;
}
var u = t & 7;
switch (t >>>= 3) {
case 1: {
if (u !== 0)
break;
if (v = r.uint32())
m.entries = v;
else
delete m.entries;
continue;
}
}
r.skipType(u, q, t);
if (!r.discardUnknown) {
$util.makeProp(m, "$unknowns", false);
(m.$unknowns || (m.$unknowns = [])).push(r.raw(s, r.pos));
}
}
if (l !== $undefined) {
if (r.pos !== c)
throw $RangeError("index out of range");
r.len = l;
}
if (z !== $undefined)
throw $Error("missing end group");
return m;
};
return CreateStringStorageResponse;
})();
v1.DestroyStringStorageRequest = (function() {
var DestroyStringStorageRequest = function (p) {
if (p)
for (var ks = $Object.keys(p), i = 0; i < ks.length; ++i)
if (p[ks[i]] != null && ks[i] !== "__proto__")
this[ks[i]] = p[ks[i]];
};
DestroyStringStorageRequest.prototype.name = "";
DestroyStringStorageRequest.encode = function (m, w, q) {
if (!w)
w = $Writer.create();
if (q === $undefined)
q = 0;
if (q > $util.recursionLimit)
throw $Error("max depth exceeded");
if (m.name != null && $Object.hasOwnProperty.call(m, "name") && m.name !== "")
w.uint32(10).string(m.name);
if (m.$unknowns != null && $Object.hasOwnProperty.call(m, "$unknowns"))
for (var i = 0; i < m.$unknowns.length; ++i)
w.raw(m.$unknowns[i]);
return w;
};
DestroyStringStorageRequest.decode = function (r, l, z, q, g) {
if (!(r instanceof $Reader))
r = $Reader.create(r);
if (q === $undefined)
q = 0;
if (q > $Reader.recursionLimit)
throw $Error("max depth exceeded");
var c, m, v;
if (l === $undefined)
c = r.len;
else {
c = r.pos + l;
if (c > r.len)
throw $RangeError("index out of range");
l = r.len;
r.len = c;
}
m = g || new $root.turngraph.v1.DestroyStringStorageRequest();
while (r.pos < c) {
var s = r.pos;
var t = r.tag();
if (t === z) {
z = $undefined;
break;
}
var u = t & 7;
switch (t >>>= 3) {
case 1: {
if (u !== 2)
break;
if ((v = r.stringVerify()).length)
m.name = v;
else
delete m.name;
continue;
}
}
r.skipType(u, q, t);
if (!r.discardUnknown) {
$util.makeProp(m, "$unknowns", false);
(m.$unknowns || (m.$unknowns = [])).push(r.raw(s, r.pos));
}
}
if (l !== $undefined) {
if (r.pos !== c)
throw $RangeError("index out of range");
r.len = l;
}
if (z !== $undefined)
throw $Error("missing end group");
return m;
};
return DestroyStringStorageRequest;
})();
v1.SearchStorageRequest = (function() {
var SearchStorageRequest = function (p) {
if (p)
for (var ks = $Object.keys(p), i = 0; i < ks.length; ++i)
if (p[ks[i]] != null && ks[i] !== "__proto__")
this[ks[i]] = p[ks[i]];
};
SearchStorageRequest.prototype.name = "";
SearchStorageRequest.prototype.query = "";
SearchStorageRequest.prototype.match = "";
SearchStorageRequest.prototype.topK = 0;
SearchStorageRequest.prototype.filterJson = "";
SearchStorageRequest.encode = function (m, w, q) {
if (!w)
w = $Writer.create();
if (q === $undefined)
q = 0;
if (q > $util.recursionLimit)
throw $Error("max depth exceeded");
if (m.name != null && $Object.hasOwnProperty.call(m, "name") && m.name !== "")
w.uint32(10).string(m.name);
if (m.query != null && $Object.hasOwnProperty.call(m, "query") && m.query !== "")
w.uint32(18).string(m.query);
if (m.match != null && $Object.hasOwnProperty.call(m, "match") && m.match !== "")
w.uint32(26).string(m.match);
if (m.topK != null && $Object.hasOwnProperty.call(m, "topK") && m.topK !== 0)
w.uint32(32).uint32(m.topK);
if (m.filterJson != null && $Object.hasOwnProperty.call(m, "filterJson") && m.filterJson !== "")
w.uint32(42).string(m.filterJson);
if (m.$unknowns != null && $Object.hasOwnProperty.call(m, "$unknowns"))
for (var i = 0; i < m.$unknowns.length; ++i)
w.raw(m.$unknowns[i]);
return w;
};
SearchStorageRequest.decode = function (r, l, z, q, g) {
if (!(r instanceof $Reader))
r = $Reader.create(r);
if (q === $undefined)
q = 0;
if (q > $Reader.recursionLimit)
throw $Error("max depth exceeded");
var c, m, v;
if (l === $undefined)
c = r.len;
else {
c = r.pos + l;
if (c > r.len)
throw $RangeError("index out of range");
l = r.len;
r.len = c;
}
m = g || new $root.turngraph.v1.SearchStorageRequest();
while (r.pos < c) {
var s = r.pos;
var t = r.tag();
if (t === z) {
z = $undefined;
break;
}
var u = t & 7;
switch (t >>>= 3) {
case 1: {
if (u !== 2)
break;
if ((v = r.stringVerify()).length)
m.name = v;
else
delete m.name;
continue;
}
case 2: {
if (u !== 2)
break;
if ((v = r.stringVerify()).length)
m.query = v;
else
delete m.query;
continue;
}
case 3: {
if (u !== 2)
break;
if ((v = r.stringVerify()).length)
m.match = v;
else
delete m.match;
continue;
}
case 4: {
if (u !== 0)
break;
if (v = r.uint32())
m.topK = v;
else
delete m.topK;
continue;
}
case 5: {
if (u !== 2)
break;
if ((v = r.stringVerify()).length)
m.filterJson = v;
else
delete m.filterJson;
continue;
}
}
r.skipType(u, q, t);
if (!r.discardUnknown) {
$util.makeProp(m, "$unknowns", false);
(m.$unknowns || (m.$unknowns = [])).push(r.raw(s, r.pos));
}
}
if (l !== $undefined) {
if (r.pos !== c)
throw $RangeError("index out of range");
r.len = l;
}
if (z !== $undefined)
throw $Error("missing end group");
return m;
};
return SearchStorageRequest;
})();
v1.SearchStorageResponse = (function() {
var SearchStorageResponse = function (p) {
if (p)
for (var ks = $Object.keys(p), i = 0; i < ks.length; ++i)
if (p[ks[i]] != null && ks[i] !== "__proto__")
this[ks[i]] = p[ks[i]];
};
SearchStorageResponse.prototype.part = 0;
SearchStorageResponse.prototype.of = 0;
SearchStorageResponse.prototype.hitsJson = "";
SearchStorageResponse.prototype.found = false;
SearchStorageResponse.encode = function (m, w, q) {
if (!w)
w = $Writer.create();
if (q === $undefined)
q = 0;
if (q > $util.recursionLimit)
throw $Error("max depth exceeded");
if (m.part != null && $Object.hasOwnProperty.call(m, "part") && m.part !== 0)
w.uint32(8).uint32(m.part);
if (m.of != null && $Object.hasOwnProperty.call(m, "of") && m.of !== 0)
w.uint32(16).uint32(m.of);
if (m.hitsJson != null && $Object.hasOwnProperty.call(m, "hitsJson") && m.hitsJson !== "")
w.uint32(26).string(m.hitsJson);
if (m.found != null && $Object.hasOwnProperty.call(m, "found") && m.found !== false)
w.uint32(32).bool(m.found);
if (m.$unknowns != null && $Object.hasOwnProperty.call(m, "$unknowns"))
for (var i = 0; i < m.$unknowns.length; ++i)
w.raw(m.$unknowns[i]);
return w;
};
SearchStorageResponse.decode = function (r, l, z, q, g) {
if (!(r instanceof $Reader))
r = $Reader.create(r);
if (q === $undefined)
q = 0;
if (q > $Reader.recursionLimit)
throw $Error("max depth exceeded");
var c, m, v;
if (l === $undefined)
c = r.len;
else {
c = r.pos + l;
if (c > r.len)
throw $RangeError("index out of range");
l = r.len;
r.len = c;
}
m = g || new $root.turngraph.v1.SearchStorageResponse();
while (r.pos < c) {
var s = r.pos;
var t = r.tag();
if (t === z) {
z = $undefined;
break;
}
var u = t & 7;
switch (t >>>= 3) {
case 1: {
if (u !== 0)
break;
if (v = r.uint32())
m.part = v;
else
delete m.part;
continue;
}
case 2: {
if (u !== 0)
break;
if (v = r.uint32())
m.of = v;
else
delete m.of;
continue;
}
case 3: {
if (u !== 2)
break;
if ((v = r.stringVerify()).length)
m.hitsJson = v;
else
delete m.hitsJson;
continue;
}
case 4: {
if (u !== 0)
break;
if (v = r.bool())
m.found = v;
else
delete m.found;
continue;
}
}
r.skipType(u, q, t);
if (!r.discardUnknown) {
$util.makeProp(m, "$unknowns", false);
(m.$unknowns || (m.$unknowns = [])).push(r.raw(s, r.pos));
}
}
if (l !== $undefined) {
if (r.pos !== c)
throw $RangeError("index out of range");
r.len = l;
}
if (z !== $undefined)
throw $Error("missing end group");
return m;
};
return SearchStorageResponse;
})();
v1.Ack = (function() {
var Ack = function (p) {
if (p)
for (var ks = $Object.keys(p), i = 0; i < ks.length; ++i)
if (p[ks[i]] != null && ks[i] !== "__proto__")
this[ks[i]] = p[ks[i]];
};
Ack.encode = function (m, w, q) {
if (!w)
w = $Writer.create();
if (q === $undefined)
q = 0;
if (q > $util.recursionLimit)
throw $Error("max depth exceeded");
if (m.$unknowns != null && $Object.hasOwnProperty.call(m, "$unknowns"))
for (var i = 0; i < m.$unknowns.length; ++i)
w.raw(m.$unknowns[i]);
return w;
};
Ack.decode = function (r, l, z, q, g) {
if (!(r instanceof $Reader))
r = $Reader.create(r);
if (q === $undefined)
q = 0;
if (q > $Reader.recursionLimit)
throw $Error("max depth exceeded");
var c, m;
if (l === $undefined)
c = r.len;
else {
c = r.pos + l;
if (c > r.len)
throw $RangeError("index out of range");
l = r.len;
r.len = c;
}
m = g || new $root.turngraph.v1.Ack();
while (r.pos < c) {
var s = r.pos;
var t = r.tag();
if (t === z) {
z = $undefined;
break;
}
r.skipType(t & 7, q, t);
if (!r.discardUnknown) {
$util.makeProp(m, "$unknowns", false);
(m.$unknowns || (m.$unknowns = [])).push(r.raw(s, r.pos));
}
}
if (l !== $undefined) {
if (r.pos !== c)
throw $RangeError("index out of range");
r.len = l;
}
if (z !== $undefined)
throw $Error("missing end group");
return m;
};
return Ack;
})();
v1.ErrorResponse = (function() {
var ErrorResponse = function (p) {
if (p)
for (var ks = $Object.keys(p), i = 0; i < ks.length; ++i)
if (p[ks[i]] != null && ks[i] !== "__proto__")
this[ks[i]] = p[ks[i]];
};
ErrorResponse.prototype.code = 0;
ErrorResponse.prototype.name = "";
ErrorResponse.prototype.message = "";
ErrorResponse.prototype.detail = "";
ErrorResponse.encode = function (m, w, q) {
if (!w)
w = $Writer.create();
if (q === $undefined)
q = 0;
if (q > $util.recursionLimit)
throw $Error("max depth exceeded");
if (m.code != null && $Object.hasOwnProperty.call(m, "code") && m.code !== 0)
w.uint32(8).uint32(m.code);
if (m.name != null && $Object.hasOwnProperty.call(m, "name") && m.name !== "")
w.uint32(18).string(m.name);
if (m.message != null && $Object.hasOwnProperty.call(m, "message") && m.message !== "")
w.uint32(26).string(m.message);
if (m.detail != null && $Object.hasOwnProperty.call(m, "detail") && m.detail !== "")
w.uint32(34).string(m.detail);
if (m.$unknowns != null && $Object.hasOwnProperty.call(m, "$unknowns"))
for (var i = 0; i < m.$unknowns.length; ++i)
w.raw(m.$unknowns[i]);
return w;
};
ErrorResponse.decode = function (r, l, z, q, g) {
if (!(r instanceof $Reader))
r = $Reader.create(r);
if (q === $undefined)
q = 0;
if (q > $Reader.recursionLimit)
throw $Error("max depth exceeded");
var c, m, v;
if (l === $undefined)
c = r.len;
else {
c = r.pos + l;
if (c > r.len)
throw $RangeError("index out of range");
l = r.len;
r.len = c;
}
m = g || new $root.turngraph.v1.ErrorResponse();
while (r.pos < c) {
var s = r.pos;
var t = r.tag();
if (t === z) {
z = $undefined;
break;
}
var u = t & 7;
switch (t >>>= 3) {
case 1: {
if (u !== 0)
break;
if (v = r.uint32())
m.code = v;
else
delete m.code;
continue;
}
case 2: {
if (u !== 2)
break;
if ((v = r.stringVerify()).length)
m.name = v;
else
delete m.name;
continue;
}
case 3: {
if (u !== 2)
break;
if ((v = r.stringVerify()).length)
m.message = v;
else
delete m.message;
continue;
}
case 4: {
if (u !== 2)
break;
if ((v = r.stringVerify()).length)
m.detail = v;
else
delete m.detail;
continue;
}
}
r.skipType(u, q, t);
if (!r.discardUnknown) {
$util.makeProp(m, "$unknowns", false);
(m.$unknowns || (m.$unknowns = [])).push(r.raw(s, r.pos));
}
}
if (l !== $undefined) {
if (r.pos !== c)
throw $RangeError("index out of range");
r.len = l;
}
if (z !== $undefined)
throw $Error("missing end group");
return m;
};
ErrorResponse.Code = (function() {
var valuesById = $Object.create(null), values = $Object.create(valuesById);
values[valuesById[0] = "OK"] = 0;
values[valuesById[1001] = "CONNECTION_FAILED"] = 1001;
values[valuesById[1002] = "CONNECTION_DROPPED"] = 1002;
values[valuesById[1003] = "TIMEOUT"] = 1003;
values[valuesById[2001] = "SERVER_SHUTTING_DOWN"] = 2001;
values[valuesById[2003] = "SESSION_NOT_RESUMABLE"] = 2003;
values[valuesById[2004] = "UNAUTHORIZED"] = 2004;
values[valuesById[2005] = "LIMIT_EXCEEDED"] = 2005;
values[valuesById[3001] = "INVALID_AGENT_ID"] = 3001;
values[valuesById[3002] = "AGENT_ALREADY_DESTROYED"] = 3002;
values[valuesById[3003] = "GRAPH_COMPILATION_FAILED"] = 3003;
values[valuesById[3004] = "AGENT_BUSY"] = 3004;
values[valuesById[3005] = "UNKNOWN_NODE"] = 3005;
values[valuesById[3006] = "PARAM_NOT_MUTABLE"] = 3006;
values[valuesById[3007] = "INVALID_PARAM_VALUE"] = 3007;
values[valuesById[3008] = "INVALID_EXIT_TARGET"] = 3008;
values[valuesById[3009] = "STORAGE_OUTSIDE_ROOT"] = 3009;
values[valuesById[3010] = "STORAGE_FILE_NOT_FOUND"] = 3010;
values[valuesById[3011] = "STORAGE_KIND_MISMATCH"] = 3011;
values[valuesById[3012] = "NO_RESULTS_AWAITED"] = 3012;
values[valuesById[4001] = "INFERENCE_FAILED"] = 4001;
values[valuesById[4002] = "INFERENCE_TIMEOUT"] = 4002;
values[valuesById[4003] = "MAX_STEPS_EXCEEDED"] = 4003;
values[valuesById[4004] = "PROMPT_TOO_LARGE"] = 4004;
values[valuesById[4005] = "ENGINE_CRASHED"] = 4005;
values[valuesById[5001] = "MALFORMED_MESSAGE"] = 5001;
values[valuesById[5002] = "UNKNOWN_MESSAGE_TYPE"] = 5002;
values[valuesById[5003] = "FRAME_TOO_LARGE"] = 5003;
values[valuesById[5004] = "PROTOCOL_VERSION_MISMATCH"] = 5004;
values[valuesById[5005] = "INTERNAL"] = 5005;
values[valuesById[6001] = "DOWNLOAD_FAILED"] = 6001;
values[valuesById[6002] = "DOWNLOAD_NOT_AVAILABLE"] = 6002;
values[valuesById[6003] = "INSUFFICIENT_DISK_SPACE"] = 6003;
values[valuesById[6004] = "DOWNLOAD_ALREADY_ACTIVE"] = 6004;
values[valuesById[6005] = "CHECKSUM_MISMATCH"] = 6005;
values[valuesById[6006] = "MODEL_AUTO_DOWNLOAD_FAILED"] = 6006;
values[valuesById[6007] = "UNKNOWN_MODEL"] = 6007;
values[valuesById[6008] = "MODEL_NOT_ON_DISK"] = 6008;
values[valuesById[6009] = "MODEL_LOAD_FAILED"] = 6009;
values[valuesById[6010] = "MODEL_IN_USE"] = 6010;
values[valuesById[6011] = "DOWNLOAD_CANCELLED"] = 6011;
values[valuesById[7001] = "INVALID_STRING_STORAGE_NAME"] = 7001;
values[valuesById[7002] = "STRING_STORAGE_ALREADY_EXISTS"] = 7002;
values[valuesById[7003] = "INVALID_STRING_STORAGE_DATA"] = 7003;
values[valuesById[7004] = "STORAGE_NAME_IN_USE"] = 7004;
return values;
})();
return ErrorResponse;
})();
return v1;
})();
return turngraph;
})();

/** One message in protobuf's binary form: encode reads plain objects with enums as numbers, decode leaves defaults on a prototype. */
export interface StaticMessage {
  encode(message: object, writer: Writer): Writer;
  decode(reader: Reader): object;
}

/** The two envelopes. */
export const envelopes: { readonly ClientFrame: StaticMessage; readonly ServerFrame: StaticMessage } = $root.turngraph.v1;
