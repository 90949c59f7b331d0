import { memo, useState } from 'react';
import type { TurnEvent } from '../../../src/client/index.ts';
import type { GraphFile } from '../document/graphDocument.ts';
import { describeEvent } from './describeEvent.ts';

/** Properties of the line of an event. */
export interface EventLineProps {
  readonly event: TurnEvent;
  readonly graph: GraphFile | undefined;
}

/** An event of a node as a small line, with its payload on demand. */
export const EventLine = memo(function EventLine({ event, graph }: EventLineProps) {
  const [open, setOpen] = useState(false);
  const { sentence, lines, shares, text, tone } = describeEvent(event, graph);
  return (
    <div className="conversation-event" data-tone={tone} data-event={event.eventType}>
      <p>
        <span className="conversation-node">{event.nodeName}</span> {sentence}
      </p>
      {lines.length > 0 && (
        <ul>
          {lines.map((line) => (
            <li key={line}>{line}</li>
          ))}
        </ul>
      )}
      {shares && (
        <table>
          <tbody>
            {shares.map(({ name, share }) => (
              <tr key={name}>
                <th scope="row">{name}</th>
                <td>
                  <svg viewBox="0 0 100 10" preserveAspectRatio="none" aria-hidden="true">
                    <rect className="conversation-share" width={share * 100} height="10" />
                  </svg>
                </td>
                <td>{(share * 100).toFixed(1)} %</td>
              </tr>
            ))}
          </tbody>
        </table>
      )}
      {text !== undefined && text !== '' && (
        <details>
          <summary>{text.length} characters</summary>
          <pre>{text}</pre>
        </details>
      )}
      <details className="conversation-raw" onToggle={(toggle) => setOpen(toggle.currentTarget.open)}>
        <summary>raw</summary>
        {open && <pre>{JSON.stringify(event.payload, null, 2)}</pre>}
      </details>
    </div>
  );
});
