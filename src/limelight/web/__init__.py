"""The page: `limelight serve`, an interactive look at a model's decisions, and the interface that it is made of.

    request ──▶ security.py ──▶ routes.py ──▶ jobs.py ──▶ answers.py ──▶ row_data.py ──▶ JSON or server-sent events

The page itself is in `static/`: ES modules, a stylesheet and one HTML file, served as they are. It uses nothing but the
interface, and nothing leaves the machine.
"""
