import type { Certificate } from '../runtime/certificate.ts';

/** What is kept of certificates, for all servers that share a store; and the port of that store. */

/** An account with an authority. Its key signs every request. */
export interface KeptAccount {
  readonly directory: string;
  readonly email: string;
  /** The URL by which the authority knows the account. */
  readonly url: string;
  /** PEM. */
  readonly key: string;
}

export interface KeptCertificate extends Certificate {
  /** The plan that it was ordered for, see `subjectOf`. */
  readonly subject: string;
}

/** When to order next, and what became of earlier orders. Times are in milliseconds since 1970. */
export interface OrderPlan {
  /** What the plan is for, see `subjectOf`: other domains begin with a new plan. */
  readonly subject: string;
  /** When the orders of the last day began. */
  readonly ordersAtMs: readonly number[];
  /** Orders since the last one that succeeded. One in progress counts, because the server may die. */
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
  /** What is known of the store. If it has changed, the claim fails. */
  readonly revision: number;
  readonly nowMs: number;
  readonly untilMs: number;
  /** Stored with the claim, so that an order which ends with its server has counted. */
  readonly plan: OrderPlan;
}

export interface OrderEnd {
  readonly server: string;
  readonly plan: OrderPlan;
  /** `undefined`: the one before stays. */
  readonly certificate: KeptCertificate | undefined;
}

/** Where certificates are kept. Each change increases the revision. */
export interface CertificateStore {
  /** Whether other servers use it too. */
  readonly isShared: boolean;
  revision(): Promise<number>;
  read(): Promise<KeptState>;
  /** Claims the lease. `false`: another server has it, or the store has changed. */
  claim(claim: OrderClaim): Promise<boolean>;
  keepAccount(account: KeptAccount): Promise<void>;
  /** Replaces the challenges that all servers answer. */
  offer(challenges: ReadonlyMap<string, string>): Promise<void>;
  /** Ends an order: releases the lease, and forgets all challenges. Does nothing if another server has claimed the lease. */
  end(end: OrderEnd): Promise<void>;
}
