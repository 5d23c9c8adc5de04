import { signal } from '@preact/signals';

/** A way to see in a shell what a page shows. */
export interface ViewCommand {
  /** The program. */
  readonly name: 'curl' | 'fanfare';
  readonly text: () => string;
}

/** The commands of the page that is shown. */
export const viewCommands = signal<readonly ViewCommand[]>([]);
