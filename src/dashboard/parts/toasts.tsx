import { signal } from '@preact/signals';
import type { Failed } from '../api/client.ts';

const shown = signal<readonly { readonly id: number; readonly text: string }[]>([]);
let last = 0;

const SHOWN_MS = 3000;

/** Confirms an action in a corner, for a moment. */
export function say(text: string): void {
  const id = ++last;
  shown.value = [...shown.value.slice(-2), { id, text }];
  setTimeout(() => {
    shown.value = shown.value.filter((toast) => toast.id !== id);
  }, SHOWN_MS);
}

/** Says why the server refused an action. */
export function sayWhy({ message }: Failed): void {
  say(message);
}

export function Toasts() {
  return (
    <div class="toasts" role="status">
      {shown.value.map(({ id, text }) => (
        <div key={id}>{text}</div>
      ))}
    </div>
  );
}
