"""Which of these headlines have a click rate above 2%?"""

import csv
import random

from goodarm import Campaign

SUBJECTS = ["trains", "bread", "chess", "clouds", "gardens", "maps", "violins", "tides"]
OPENINGS = ["The truth about", "Ten facts about", "Why we love", "Everything new in", "The case against"]
HEADLINES = [f"{opening} {subject}" for opening in OPENINGS for subject in SUBJECTS]
VIEWS = 30_000

readers = random.Random(7)
CLICK_RATES = {headline: readers.betavariate(1.2, 60) for headline in HEADLINES}  # unknown to the campaign


def clicked(headline):
    """Show a headline to one reader. Replace this with your own page."""
    return readers.random() < CLICK_RATES[headline]


if __name__ == "__main__":
    with (
        Campaign.create("sqlite:///headlines.db", "headlines", HEADLINES, threshold="2%", exist_ok=True) as campaign,
        open("views.csv", "a", newline="", encoding="utf-8") as log,
    ):
        rows = csv.writer(log)
        if log.tell() == 0:
            rows.writerow(["headline", "clicked"])
        tickets = campaign.waiting()  # from an interrupted run
        try:
            while campaign.tally().told < VIEWS and (tickets := tickets or campaign.ask(100)):
                results = [(ticket, clicked(ticket.arm)) for ticket in tickets]
                campaign.tell_many(results)
                rows.writerows([ticket.arm, int(click)] for ticket, click in results)
                tickets = []
        except KeyboardInterrupt:
            print("interrupted; run it again to continue")
        found = campaign.verdicts()
        print(found)
        print(campaign)
        wrong = [row.arm for row in found.arms if row.sign and (CLICK_RATES[row.arm] >= 0.02) != (row.sign > 0)]
        print(f"{len(wrong)} of {found.good + found.bad} verdicts are wrong")
