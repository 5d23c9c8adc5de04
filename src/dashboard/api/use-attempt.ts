import { useState } from 'preact/hooks';
import { Failed } from './client.ts';

/** Runs an action of the user, and reports if the server refuses it. */
export async function attempt(
  action: () => Promise<unknown>,
  refused: (failed: Failed) => void,
): Promise<void> {
  try {
    await action();
  } catch (error) {
    if (!(error instanceof Failed)) throw error;
    refused(error);
  }
}

/** Runs actions, and keeps why the last one was refused. */
export function useAttempt() {
  const [wrong, setWrong] = useState<Failed>();
  return {
    wrong,
    attempt: (action: () => Promise<unknown>) => {
      setWrong(undefined);
      return attempt(action, setWrong);
    },
  };
}
