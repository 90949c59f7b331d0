import './ui.css';

/** The names of all icons, each with the strokes that draw it in a square of 16. */
const strokes = {
  add: 'M8 3v10M3 8h10',
  alert: 'M8 2.5 14 13H2zM8 6.5v3M8 11.2v.1',
  cancel: 'M4.5 4.5h7v7h-7z',
  check: 'm3 8.5 3.5 3.5L13 4.5',
  chevronDown: 'm4 6 4 4 4-4',
  chevronRight: 'm6 4 4 4-4 4',
  close: 'm4 4 8 8M12 4l-8 8',
  code: 'm5.5 4.5-3.5 3.5 3.5 3.5M10.5 4.5l3.5 3.5-3.5 3.5',
  copy: 'M5.5 5.5h8v8h-8zM3.5 10.5h-1v-8h8v1',
  download: 'M8 2.5v7.5M4.5 7 8 10.5 11.5 7M2.5 13.5h11',
  graph: 'M2 6h4v4H2zM10.5 2.5H14V6h-3.5zM10.5 10H14v3.5h-3.5zM6 8h2V4.2h2.5M8 8v3.8h2.5',
  model: 'M4.5 4.5h7v7h-7zM6 4.5V2M10 4.5V2M6 14v-2.5M10 14v-2.5M4.5 6H2M4.5 10H2M14 6h-2.5M14 10h-2.5',
  more: 'M3.5 8v.1M8 8v.1M12.5 8v.1',
  newFile: 'M9 2H3.5v12h9V5.5zM9 2v3.5h3.5M8 8v4M6 10h4',
  open: 'M2 13V3h4l1.5 2H14v8zM2 7h12',
  redo: 'm10.5 3 3 3-3 3M13.5 6H6a3.5 3.5 0 0 0 0 7h3',
  remove: 'M3 4.5h10M6.5 4.5v-2h3v2M4.5 4.5l.5 9h6l.5-9',
  restart: 'M13 8a5 5 0 1 1-1.6-3.7M13 2v3h-3',
  save: 'M2.5 2.5h9l2 2v9h-11zM5 2.5v4h5.5v-4M5 13.5v-4h6v4',
  send: 'M2.5 8 13.5 2.5 11 13.5 7.5 9zM7.5 9l6-6.5',
  talk: 'M2.5 3h11v7.5H8L5 13.5v-3H2.5z',
  theme: 'M8 2.5a5.5 5.5 0 1 0 0 11zM8 2.5a5.5 5.5 0 0 1 0 11M10 5v6M12 6v4',
  timeline: 'M2.5 4h6M5 8h6M8 12h5.5',
  undo: 'm5.5 3-3 3 3 3M2.5 6H10a3.5 3.5 0 0 1 0 7H7',
} as const;

/** The name of an icon. */
export type IconName = keyof typeof strokes;

/** An icon beside a text, or in a button that has a name; screen readers skip it. */
export function Icon({ name }: { readonly name: IconName }) {
  return (
    <svg className="ui-icon" viewBox="0 0 16 16" aria-hidden="true">
      <path d={strokes[name]} />
    </svg>
  );
}
