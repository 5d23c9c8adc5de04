/** What a check of Redis has found. */
export type Result =
  | { readonly result: 'ok'; readonly detail: string }
  | { readonly result: 'warning' | 'failed'; readonly detail: string; readonly advice: string };

export function ok(detail: string): Result {
  return { result: 'ok', detail };
}

export function warning(detail: string, advice: string): Result {
  return { result: 'warning', detail, advice };
}

export function failed(detail: string, advice: string): Result {
  return { result: 'failed', detail, advice };
}
