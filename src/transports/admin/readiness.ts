/** Whether this server can do its work now, and if not, why. */
export class Readiness {
  private realtime: 'starting' | 'listening' | 'stopping' = 'starting';
  private storeFault: string | undefined;

  setRealtime(state: 'starting' | 'listening' | 'stopping'): void {
    this.realtime = state;
  }

  /** `undefined`: it works. Tells whether that is news. */
  setStore(fault: string | undefined): boolean {
    const isNews = (fault === undefined) !== (this.storeFault === undefined);
    this.storeFault = fault;
    return isNews;
  }

  /** Empty when ready; otherwise one reason for each part that is not. */
  reasons(): readonly string[] {
    const reasons: string[] = [];
    if (this.realtime !== 'listening') reasons.push(`realtime: ${this.realtime}`);
    if (this.storeFault !== undefined) reasons.push(`store: ${this.storeFault}`);
    return reasons;
  }
}
