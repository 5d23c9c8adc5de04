import { printable } from '../runtime/logging/printable.ts';

/** The result of one check, for a person. */
export type Finding =
  | { readonly result: 'ok'; readonly detail: string }
  | { readonly result: 'warning' | 'failed'; readonly detail: string; readonly advice: string }
  | { readonly result: 'not checked'; readonly detail: string };

export function ok(detail: string): Finding {
  return { result: 'ok', detail };
}

/** Something works, but not for everyone, or not for long. */
export function warning(detail: string, advice: string): Finding {
  return { result: 'warning', detail, advice };
}

export function failed(detail: string, advice: string): Finding {
  return { result: 'failed', detail, advice };
}

export function notChecked(why: string): Finding {
  return { result: 'not checked', detail: why };
}

/** Shortens text that came from a server to one line that can be shown. */
export function excerpt(text: string, charactersMax = 160): string {
  const line = printable(text.replace(/\s+/g, ' ').trim());
  return line.length <= charactersMax ? line : `${line.slice(0, charactersMax)}…`;
}
