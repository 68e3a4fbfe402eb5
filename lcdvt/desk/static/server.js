// Everything that is asked of the server. Addresses are relative: the token in the page's own address goes with them.

export class Refused extends Error {}

async function read(response) {
  const found = await response.json().catch(() => ({ error: `the server answered ${response.status}` }));
  if (!response.ok) throw new Refused(found.error || `the server answered ${response.status}`);
  return found;
}

export async function get(path, query = {}) {
  const text = new URLSearchParams(query).toString();
  return read(await fetch(`api/${path}${text ? `?${text}` : ""}`));
}

export async function post(path, body = {}) {
  const headers = { "content-type": "application/json" };
  return read(await fetch(`api/${path}`, { method: "POST", headers, body: JSON.stringify(body) }));
}

// What was pressed waits in the browser's own store until the server has it on its disk. A page that lost its server
// sends it again; every record has a key, so that it counts once however often it is sent.
const RETRY = 2000;

export class Outbox {
  constructor(survey, { saved, refused, waiting }) {
    this.place = `lcdvt-waiting:${survey}`;
    this.saved = saved;
    this.refused = refused;
    this.waiting = waiting;
    this.busy = null;
    try {
      this.records = JSON.parse(localStorage.getItem(this.place)) || [];
    } catch {
      this.records = [];
    }
  }

  add(path, body) {
    const record = { path, body: { key: crypto.randomUUID(), ...body } };
    this.records.push(record);
    this.keep();
    return this.flush();
  }

  keep() {
    try {
      localStorage.setItem(this.place, JSON.stringify(this.records));
    } catch {
      // a browser without a store still has the page's memory
    }
  }

  flush() {
    this.busy ||= this.send().finally(() => { this.busy = null; });
    return this.busy;
  }

  async send() {
    while (this.records.length) {
      const { path, body } = this.records[0];
      try {
        this.saved(path, body, await post(path, body));
      } catch (error) {
        if (!(error instanceof Refused)) {
          this.waiting(this.records.length);
          setTimeout(() => this.flush(), RETRY);
          return;
        }
        this.refused(error.message);
      }
      this.records.shift();
      this.keep();
    }
    this.waiting(0);
  }
}
