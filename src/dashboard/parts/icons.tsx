/** The shapes of our icons: 16 × 16, one stroke width. */
const shapes = {
  home: 'M2.5 7 8 2.5 13.5 7v6.5h-4V10h-3v3.5h-4z',
  live: 'M1.5 8h3l2-5 3 10 2-5h3',
  channel: 'M6 2 4.5 14M11.5 2 10 14M2.5 5.5h11.5M2 10.5h11.5',
  connection: 'M5 6.5V2.5M11 6.5V2.5M3.5 6.5h9V8a4.5 4.5 0 0 1-9 0zM8 12.5v2',
  problem: 'M8 2.5 14.5 13.5h-13zM8 6.5v3.5M8 11.8v.2',
  send: 'M14 2 7 9M14 2 9.5 14 7 9 2 6.5z',
  device: 'M4.5 1.5h7v13h-7zM7.2 12.2h1.6',
  publish: 'M2 6.5h3.5L11 3v10L5.5 9.5H2zM13 6.5a2.5 2.5 0 0 1 0 3',
  webhook:
    'M6.5 9.5 9.5 6.5M7 4.5l1.5-1.5a3.2 3.2 0 0 1 4.5 4.5L11.5 9M9 11.5l-1.5 1.5A3.2 3.2 0 0 1 3 8.5L4.5 7',
  server: 'M2.5 3h11v4.5h-11zM2.5 8.5h11V13h-11zM5 5.2h.1M5 10.7h.1',
  log: 'M2.5 3.5h11M2.5 6.5h8M2.5 9.5h11M2.5 12.5h6',
  usage: 'M2.5 13.5V9M6.2 13.5V5.5M9.8 13.5V8M13.5 13.5V2.5',
  key: 'M8.3 7.7 13.5 2.5M11 5l2 2M9.5 10.5a3.2 3.2 0 1 1-6.4 0 3.2 3.2 0 0 1 6.4 0z',
  settings: 'M2 4.5h12M2 11.5h12M10 2.5v4M6 9.5v4',
  find: 'M7 2.5a4.5 4.5 0 1 1 0 9 4.5 4.5 0 0 1 0-9zM10.3 10.3 14 14',
  person: 'M8 2.5a2.7 2.7 0 1 1 0 5.4 2.7 2.7 0 0 1 0-5.4zM2.8 13.8a5.3 5.3 0 0 1 10.4 0',
  api: 'M5 4 1.5 8 5 12M11 4l3.5 4L11 12M9 3 7 13',
  check: 'M3 8.5 6.5 12 13 4.5',
  cross: 'M3.5 3.5 12.5 12.5M12.5 3.5 3.5 12.5',
  pause: 'M5.5 3v10M10.5 3v10',
  play: 'M4.5 2.5 13 8l-8.5 5.5z',
  copy: 'M5.5 5.5h8v8h-8zM10.5 5.5v-3h-8v8h3',
  more: 'M3 8h.1M8 8h.1M13 8h.1',
  theme: 'M8 2a6 6 0 1 1 0 12A6 6 0 0 1 8 2zM8 2a6 6 0 0 0 0 12zM8 2v12',
  leave: 'M9.5 2.5h-6v11h6M6.5 8h8M11.5 5l3 3-3 3',
  brand: 'M2 6.5v3h3l6.5 3.5V3L5 6.5zM4.5 9.5l1 4M13.8 6.3a2.5 2.5 0 0 1 0 3.4',
} as const;

export type IconName = keyof typeof shapes;

/** An icon next to a word. Screen readers read the word only. */
export function Icon({ name }: { readonly name: IconName }) {
  return (
    <svg
      width="16"
      height="16"
      viewBox="0 0 16 16"
      fill="none"
      stroke="currentColor"
      stroke-width="1.5"
      stroke-linecap="round"
      stroke-linejoin="round"
      aria-hidden="true"
    >
      <path d={shapes[name]} />
    </svg>
  );
}
