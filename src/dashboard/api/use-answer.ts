import { useCallback, useEffect, useRef, useState } from 'preact/hooks';
import {
  type Answer,
  call,
  type Failed,
  failedOf,
  type Given,
  type OperationName,
} from './client.ts';

/** An answer of the server as a page shows it. The newest answer stays if a later request fails. */
export interface Asked<Value> {
  readonly value: Value | undefined;
  readonly failed: Failed | undefined;
  /** When the answer came. */
  readonly atMs: number;
  readonly reload: () => void;
}

/** Sends a request when the page opens, when its parameters change, and every `everyMs` while the tab is visible. */
export function useAnswer<Name extends OperationName>(
  name: Name,
  given: Given<Name> = {},
  { everyMs, skip = false }: { readonly everyMs?: number; readonly skip?: boolean } = {},
): Asked<Answer<Name>> {
  const asked = `${name} ${JSON.stringify(given)}`;
  const [state, setState] = useState<{
    readonly of: string;
    readonly value: Answer<Name> | undefined;
    readonly failed: Failed | undefined;
    readonly atMs: number;
  }>({ of: asked, value: undefined, failed: undefined, atMs: 0 });
  const latest = useRef(given);
  latest.current = given;
  const [turn, setTurn] = useState(0);

  useEffect(() => {
    if (skip) return undefined;
    const stopping = new AbortController();
    let timer: ReturnType<typeof setTimeout> | undefined;
    const ask = async () => {
      try {
        const value = await call(name, latest.current, stopping.signal);
        if (stopping.signal.aborted) return;
        setState({ of: asked, value, failed: undefined, atMs: Date.now() });
      } catch (error) {
        if (stopping.signal.aborted) return;
        const failed = failedOf(error);
        setState((before) => ({ ...before, of: asked, failed }));
      }
      if (everyMs !== undefined) timer = setTimeout(again, everyMs);
    };
    const again = () => {
      if (document.hidden) document.addEventListener('visibilitychange', again, { once: true });
      else void ask();
    };
    void ask();
    return () => {
      stopping.abort();
      clearTimeout(timer);
      document.removeEventListener('visibilitychange', again);
    };
  }, [asked, everyMs, skip, turn]);

  const reload = useCallback(() => setTurn((before) => before + 1), []);
  // An answer to earlier parameters is not shown.
  const isOfThis = state.of === asked;
  return {
    value: isOfThis ? state.value : undefined,
    failed: isOfThis ? state.failed : undefined,
    atMs: state.atMs,
    reload,
  };
}
