import type { Certificate } from '../runtime/tls/certificate.ts';

/** What the store holds about certificates, for all servers that share it; and the port to that store. */

/** An account with an authority. Its key signs all requests. */
export interface KeptAccount {
  readonly directory: string;
  readonly email: string;
  /** The URL that identifies the account at the authority. */
  readonly url: string;
  /** PEM. */
  readonly key: string;
}

export interface KeptCertificate extends Certificate {
  /** The subject of the plan that it was ordered for; see `subjectOf`. */
  readonly subject: string;
}

/** When to order next, and the results of earlier orders. Times are in milliseconds since 1970. */
export interface OrderPlan {
  /** What is ordered; see `subjectOf`. Another subject starts a new plan. */
  readonly subject: string;
  /** The start times of the last day's orders. */
  readonly ordersAtMs: readonly number[];
  /** Orders since the last success. An order in progress counts too, because the server may crash during it. */
  readonly failures: number;
  readonly nextAtMs: number;
  /** The authority accepts no order before this time; 0: it named none. */
  readonly notBeforeMs: number;
  /** Why the last order failed; empty: it did not. */
  readonly problem: string;
}

export interface KeptState {
  readonly account: KeptAccount | undefined;
  readonly certificate: KeptCertificate | undefined;
  readonly plan: OrderPlan | undefined;
  /** The answers to the authority's challenges, by token. */
  readonly challenges: ReadonlyMap<string, string>;
}

/** One server's right to order. */
export interface OrderClaim {
  readonly server: string;
  /** The revision that the caller has read. If the store has a newer one, the claim fails. */
  readonly revision: number;
  readonly nowMs: number;
  readonly untilMs: number;
  /** The plan to store together with the claim. An order therefore counts even if its server crashes. */
  readonly plan: OrderPlan;
}

export interface OrderEnd {
  readonly server: string;
  readonly plan: OrderPlan;
  /** `undefined`: keeps the previous one. */
  readonly certificate: KeptCertificate | undefined;
}

/** The store of certificates. Each change increases the revision. */
export interface CertificateStore {
  /** Whether other servers share the store. */
  readonly isShared: boolean;
  revision(): Promise<number>;
  read(): Promise<KeptState>;
  /** Claims the lease. `false`: another server has it, or the store has changed. */
  claim(claim: OrderClaim): Promise<boolean>;
  keepAccount(account: KeptAccount): Promise<void>;
  /** Replaces the challenge answers that all servers give. */
  offer(challenges: ReadonlyMap<string, string>): Promise<void>;
  /**
   * Ends an order: releases the lease and deletes all challenges. Does nothing if another server has claimed the
   * lease.
   */
  end(end: OrderEnd): Promise<void>;
}
