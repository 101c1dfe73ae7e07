"""Words of dates and of amounts: months, units, magnitudes."""

from __future__ import annotations

from monograph.derive.extract.clues import words

MONTHS = words(
    """
January Januar Jan February Februar Feb March März Mar April Apr May Mai mai June Juni Jun July Juli Jul August Aug
September Sept Sep October Oktober Oct November Nov December Dezember Dec enero febrero marzo abril mayo junio julio
agosto septiembre octubre noviembre diciembre janvier février mars avril juin juillet août septembre octobre
novembre décembre gennaio febbraio aprile maggio giugno luglio settembre ottobre dicembre janeiro fevereiro março
maio junho julho setembro outubro novembro dezembro января февраля марта апреля мая июня июля августа сентября
октября ноября декабря
"""
)
UNITS = words(
    """
percent Prozent million billion trillion euro euros dollar dollars pounds km kg cm mm mph mile miles meters metres feet
ft acres hectares Millionen Milliarden Euro millones kB MB GB TB ms Hz kHz MHz GHz kW MW GW kWh MWh GWh
"""
)
"""Behind an amount, and no letter of ASCII behind them."""

MAGNITUDES = words("million billion trillion m bn k")
"""Behind an amount of a currency."""
