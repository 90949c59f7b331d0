import { memo, useMemo, useState } from 'react';
import { CopyButton } from '../ui/CopyButton.tsx';
import { formatMs } from './formatFigures.ts';
import { promptBlocks, promptParts, promptText, withVisibleSpace, type PromptPart } from './promptParts.ts';
import { readInference } from './timeline.ts';
import type { InferenceRecord, TurnRecord } from './turnRecord.ts';

/** The prompts of a turn, exactly as the models got them, and what the models generated. */
export function PromptTab({ turn: { visits, endedAt } }: { readonly turn: TurnRecord }) {
  const inferences = useMemo(
    () => visits.flatMap(({ node, inferences: ofNode }) => ofNode.map((inference) => ({ node, inference }))),
    [visits],
  );
  const [index, setIndex] = useState(0);
  const [showsSpace, setShowsSpace] = useState(false);
  const shown = inferences[Math.min(index, inferences.length - 1)];
  if (!shown)
    return (
      <p className="turn-empty muted">
        {endedAt === undefined ? 'A prompt is shown when its inference has ended.' : 'No model was asked in this turn.'}
      </p>
    );
  const { payload } = shown.inference;
  return (
    <div className="turn-prompt">
      <div className="turn-bar-of-controls">
        <label>
          <span className="visually-hidden">Inference</span>
          <select value={index} onChange={(event) => setIndex(Number(event.target.value))}>
            {inferences.map(({ node, inference }, at) => (
              // oxlint-disable-next-line react/no-array-index-key
              <option key={at} value={at}>
                {`${at + 1} of ${inferences.length}: ${node}, ${readInference(inference).prompt} tokens`}
              </option>
            ))}
          </select>
        </label>
        <label className="turn-check">
          <input type="checkbox" checked={showsSpace} onChange={(event) => setShowsSpace(event.target.checked)} />
          white space
        </label>
        <CopyButton size="small" text={() => promptText(promptParts(payload))}>
          Copy the prompt
        </CopyButton>
      </div>
      <PromptFacts inference={shown.inference} />
      <PromptText payload={payload} showsSpace={showsSpace} />
    </div>
  );
}

/** How the model was asked: model, format, sampling, and how it ended. */
function PromptFacts({ inference: { payload } }: { readonly inference: InferenceRecord }) {
  const { prompt, reused, generated, queuedMs, totalMs } = readInference({ payload });
  const text = (name: string): string | undefined => {
    const value = payload[name];
    return typeof value === 'string' && value !== '' ? value : undefined;
  };
  const sampling = Object.entries(payload['sampling'] ?? {}).map(([name, value]): Fact => [
    name,
    JSON.stringify(value),
  ]);
  const facts: readonly Fact[] = [
    ['model', text('model')],
    ['format', text('format')],
    ['because', text('because')],
    ['ended', text('finish_reason')],
    ['tokens', `${prompt} prompt (${reused} reused), ${generated} generated`],
    ['time', queuedMs >= 1 ? `${formatMs(totalMs)}, of it waiting ${formatMs(queuedMs)}` : formatMs(totalMs)],
  ];
  return (
    <div className="turn-facts">
      <FactList facts={facts} />
      {sampling.length > 0 && (
        <details>
          <summary>sampling</summary>
          <FactList facts={sampling} />
        </details>
      )}
    </div>
  );
}

type Fact = readonly [name: string, value: string | undefined];

function FactList({ facts }: { readonly facts: readonly Fact[] }) {
  return (
    <dl>
      {facts.map(
        ([name, value]) =>
          value !== undefined && (
            <div key={name}>
              <dt>{name}</dt>
              <dd>{value}</dd>
            </div>
          ),
      )}
    </dl>
  );
}

interface PromptTextProps {
  readonly payload: Readonly<Record<string, unknown>>;
  readonly showsSpace: boolean;
}

const PromptText = memo(function PromptText({ payload, showsSpace }: PromptTextProps) {
  const blocks = useMemo(() => promptBlocks(promptParts(payload)), [payload]);
  const draw = (text: string): string => (showsSpace ? withVisibleSpace(text) : text);
  const { text: completion, scores } = payload;
  return (
    <div className="turn-prompt-text" tabIndex={0} role="group" aria-label="Prompt and completion">
      {blocks.map((block, index) => (
        // The blocks of a prompt do not change.
        // oxlint-disable-next-line react/no-array-index-key
        <pre key={index}>{block.map((part, at) => drawPart(part, at, draw))}</pre>
      ))}
      {typeof completion === 'string' && completion !== '' && (
        <>
          <h3>Completion, raw</h3>
          <pre className="turn-completion">{draw(completion)}</pre>
        </>
      )}
      {Array.isArray(scores) && <Scores scores={scores as Scores} />}
    </div>
  );
});

function drawPart({ text, special }: PromptPart, key: number, draw: (text: string) => string) {
  if (!special) return <span key={key}>{draw(text)}</span>;
  return (
    <mark key={key} title="control token">
      {draw(text)}
    </mark>
  );
}

type Scores = readonly { readonly answer: string; readonly score: number | undefined }[];

function Scores({ scores }: { readonly scores: Scores }) {
  const rows = scores.toSorted((a, b) => (b.score ?? -Infinity) - (a.score ?? -Infinity));
  return (
    <table className="turn-scores">
      <caption>Scores of the answers: logarithm and probability</caption>
      <tbody>
        {rows.map(({ answer, score }) => (
          <tr key={answer}>
            <th scope="row">{answer}</th>
            <td>{score?.toFixed(3)}</td>
            <td>{score !== undefined && `${(Math.exp(score) * 100).toFixed(2)} %`}</td>
          </tr>
        ))}
      </tbody>
    </table>
  );
}
