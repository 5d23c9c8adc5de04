import type { Credentials } from '../../../src/doctor/client/signed-request.ts';
import type { Recorder } from '../../../src/verify/crowd/recorder.ts';

/** What one client does. */
export interface Part {
  /** From 1 on. */
  readonly number: number;
  readonly channels: readonly string[];
  /** Whether it resumes where it was. */
  readonly resumes: boolean;
  /** Who it is in presence channels. */
  readonly user: string;
  /** The channel in which it sends client events. */
  readonly whispers: string | undefined;
}

/** What all clients of a world share. */
export interface ClientWorld {
  /** The name under which the servers are reached. */
  readonly host: string;
  readonly credentials: Credentials;
  readonly recorder: Recorder;
}

/** The event of a client, and the event of a backend. */
export const CLIENT_EVENT = 'client-verify';
export const EVENT = 'verify';

/** A client of a world. */
export interface CrowdMember {
  readonly part: Part;
  /** Its present socket; `undefined`: it is not connected. */
  readonly socket: string | undefined;
  /** Whether it is connected and subscribed to all that it wants. */
  readonly isReady: boolean;
  connect(): void;
  /** Ends its connection for good. */
  stop(): void;
  leave(channel: string): void;
  enter(channel: string): void;
  whisper(e: string): void;
  /** Its connection breaks. */
  cut(): void;
  /** It closes its connection, and opens another one. */
  reopen(): void;
  /** Its connection is silent from now on. */
  silence(): void;
  /** It reads slowly from now on, until its connection ends. */
  slowDown(bytesPerMs: number): void;
}
