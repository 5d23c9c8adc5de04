import { useState } from 'preact/hooks';
import { Failed } from '../api/client.ts';

/** What came of the actions of a page: the last answer, or the last failure. */
export interface Outcome<Value> {
  readonly answer: Value | undefined;
  readonly failed: Failed | undefined;
  readonly isBusy: boolean;
  /** Runs an action. Its failure becomes the outcome; an answer that is to be shown, it puts there itself. */
  readonly attempt: (action: () => Promise<void>) => Promise<void>;
  readonly setOutcome: (outcome: Value | Failed | undefined) => void;
}

export function useOutcome<Value extends object>(): Outcome<Value> {
  const [outcome, setOutcome] = useState<Value | Failed>();
  const [isBusy, setBusy] = useState(false);
  const attempt = async (action: () => Promise<void>) => {
    setBusy(true);
    try {
      await action();
    } catch (error) {
      if (!(error instanceof Failed)) throw error;
      setOutcome(error);
    } finally {
      setBusy(false);
    }
  };
  const [answer, failed] = outcome instanceof Failed ? [undefined, outcome] : [outcome, undefined];
  return { answer, failed, isBusy, attempt, setOutcome };
}
