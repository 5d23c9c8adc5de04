/** Applications set this on the class `Pusher`. */
interface LogOwner {
  /** Takes the lines in place of the console. */
  readonly log: ((message: string) => void) | undefined;
  readonly logToConsole: boolean;
}

/** The class of the newest client, which says where the log goes. */
let owner: LogOwner | undefined;

export function logBy(pusher: LogOwner): void {
  owner = pusher;
}

const to =
  (method: 'log' | 'warn' | 'error') =>
  (...args: unknown[]): void => {
    const { log, logToConsole } = owner ?? {};
    if (!log && !logToConsole) return;
    let text: string;
    try {
      text = JSON.stringify(args);
    } catch {
      // Errors of some sockets contain themselves.
      text = String(args);
    }
    const message = `Pusher :  : ${text}`;
    if (log) log(message);
    else console[method](message);
  };

const logger: Record<'debug' | 'warn' | 'error', (...args: unknown[]) => void> = {
  debug: to('log'),
  warn: to('warn'),
  error: to('error'),
};

export default logger;
