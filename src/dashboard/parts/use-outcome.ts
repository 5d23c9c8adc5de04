import { useState } from 'preact/hooks';
import { Failed } from '../api/client.ts';
import { attempt } from '../api/use-attempt.ts';

/** The result of the last action of a page: its answer, or its failure. */
export interface Outcome<Value> {
  readonly answer: Value | undefined;
  readonly failed: Failed | undefined;
  readonly isBusy: boolean;
  /** Runs an action. A failure becomes the outcome. The action sets an answer itself, if the page shows it. */
  readonly attempt: (action: () => Promise<void>) => Promise<void>;
  readonly setOutcome: (outcome: Value | Failed | undefined) => void;
}

export function useOutcome<Value extends object>(): Outcome<Value> {
  const [outcome, setOutcome] = useState<Value | Failed>();
  const [isBusy, setBusy] = useState(false);
  const run = (action: () => Promise<void>) => {
    setBusy(true);
    return attempt(action, setOutcome).finally(() => setBusy(false));
  };
  const [answer, failed] = outcome instanceof Failed ? [undefined, outcome] : [outcome, undefined];
  return { answer, failed, isBusy, attempt: run, setOutcome };
}
